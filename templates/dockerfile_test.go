package templates

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const expressFrom = "FROM fc-e2b-registry.cn-hangzhou.cr.aliyuncs.com/runtime/base:v0.0.49\n"

func TestLintDockerfile(t *testing.T) {
	express, other := NewTarget("", "", nil), NewTarget("opensandbox", "", nil)
	fine := expressFrom + "WORKDIR /home/user/app\nCOPY commands.py /home/user/app/commands.py\nEXPOSE 9000\n"
	plain := "FROM python:3.12-slim\nWORKDIR /app\nCOPY commands.py .\nEXPOSE 9000\n"
	for _, tc := range []struct {
		name, in string
		target   Target
		want     []string
	}{
		{"the seed's", fine, express, nil},
		{"the seed's for others", plain + `CMD ["python3", "commands.py"]` + "\n", other, nil},
		{"no cmd", plain, other, []string{"error cmd 1:1"}},
		{"other cmd", plain + "CMD sleep 1\n", other, []string{"warning cmd 5:1"}},
		{"cmd", fine + "CMD [\"python3\", \"commands.py\"]\n", express, []string{"error no-cmd 5:1"}},
		{"entrypoint in lower case", fine + "entrypoint x\n", express, []string{"error no-cmd 5:1"}},
		{"other base", strings.Replace(fine, expressFrom, "FROM python:3.12-slim\n", 1), express, []string{"error base-image 1:1"}},
		{"other region", strings.Replace(fine, "hangzhou", "beijing", 1), express, []string{"error base-image 1:1"}},
		{"no tag", strings.Replace(fine, ":v0.0.49", "", 1), express, []string{"warning base-image 1:1"}},
		{"argument", strings.Replace("ARG TAG=v0.0.50\n"+fine, ":v0.0.49", ":${TAG}", 1), express, nil},
		{"default argument", strings.Replace(fine, ":v0.0.49", ":${TAG:-v0.0.50}", 1), express, nil},
		{"reserved port", fine + "EXPOSE 5000/tcp\n", express, []string{"error reserved-port 5:1"}},
		{"range over a reserved port", fine + "EXPOSE 49980-49985\n", express, []string{"error reserved-port 5:1"}},
		{"port from a variable", fine + "ENV P=49983\nEXPOSE $P\n", express, []string{"error reserved-port 6:1"}},
		{"no port", strings.Replace(fine, "EXPOSE 9000\n", "", 1), express, []string{"warning port 1:1"}},
		{"commands.py elsewhere", strings.Replace(fine, "/home/user/app/commands.py", "/srv/", 1), express, []string{"error commands-path 1:1"}},
		{"no copy", expressFrom + "EXPOSE 9000\n", express, []string{"error commands-path 1:1"}},
		{"copies all", expressFrom + "WORKDIR /home/user/app\nCOPY . .\nEXPOSE 9000\n", express, nil},
		{"copies by pattern", expressFrom + "COPY *.py /home/user/app/\nEXPOSE 9000\n", express, nil},
		{"json copy", expressFrom + "COPY [\"commands.py\", \"/home/user/app/\"]\nEXPOSE 9000\n", express, nil},
		{"outside", fine + "COPY ../x /x\n", express, []string{"error outside 5:1"}},
		{"stages", "FROM alpine AS tools\nCMD x\n" + fine + "COPY --from=tools /a /b\n", express, nil},
		{"cmd in a stage below", expressFrom + "CMD x\nFROM fc-e2b-registry.cn-hangzhou.cr.aliyuncs.com/runtime/base:v0.0.49 AS a\n", express, []string{"error commands-path 3:1", "warning port 3:1"}},
		{"derived stage", strings.Replace(fine, "v0.0.49\n", "v0.0.49 AS base\n", 1) + "CMD x\nFROM base\n", express, []string{"error no-cmd 5:1"}},
		{"secret", fine + "ENV DB_PASSWORD=hunter2\n", express, []string{"error secret 5:1"}},
		{"secret by looks", fine + "RUN echo LTAI5tABCDEFGH0123456789\n", express, []string{"error secret 5:1"}},
		{"unset secret", fine + "ARG DB_PASSWORD\n", express, nil},
		{"foreign", fine + "ENV E2B_API_KEY=\n", express, []string{"error foreign-variable 5:1"}},
		{"wrong package", fine + "RUN pip install agent-sandbox==1\n", express, []string{"error wrong-package 5:1"}},
		{"client package", fine + "RUN pip install 'agent-sandbox-client'\n", express, []string{"warning wrong-package 5:1"}},
		{"server package", fine + "RUN pip install agent-sandbox-server\n", express, nil},
		{"written for express", fine, NewTarget("e2b", "", nil), []string{"error base-image 1:1"}},
		{"arm", strings.Replace(fine, "FROM ", "FROM --platform=linux/arm64 ", 1), express, []string{"warning platform 1:1"}},
		{"empty", "", express, []string{"error syntax 0:0"}},
		{"unknown", fine + "RUNN x\n", express, []string{"error instruction 5:1"}},
		{"before from", "RUN x\n" + fine, express, []string{"error no-from 1:1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, ps := LintDockerfile(FileDockerfile, []byte(tc.in), tc.target, true)
			if diff := cmp.Diff(append([]string{}, tc.want...), short(ps)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, ps)
			}
		})
	}
}

func TestDockerfileFacts(t *testing.T) {
	d, _ := LintDockerfile(FileDockerfile, []byte("FROM python:3.12-slim AS a\nEXPOSE 9000 8080-8081\nFROM a\nCMD [\"x\"]\n"), NewTarget("e2b", "", nil), false)
	if diff := cmp.Diff(Dockerfile{From: "python:3.12-slim", Exposed: []int{9000, 8080, 8081}, Start: `CMD ["x"]`}, d); diff != "" {
		t.Error(diff)
	}
}

func FuzzLintDockerfile(f *testing.F) {
	f.Add([]byte(expressFrom + "COPY commands.py /home/user/app/commands.py\nRUN <<EOF\nx\nEOF\nEXPOSE 1-2\n"))
	f.Add([]byte("# escape=`\nFROM a\nENV a=b c=`\nd\n"))
	f.Add([]byte("ARG a=${a:-${b}}\nFROM $a as b\nFROM b\nHEALTHCHECK CMD [\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, target := range []Target{NewTarget("", "", nil), NewTarget("e2b", "", nil)} {
			_, ps := LintDockerfile(FileDockerfile, data, target, true)
			checkClean(t, ps)
		}
	})
}
