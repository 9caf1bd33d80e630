package templates

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func recipeLines(t *testing.T, text string) ([]string, Recipe) {
	t.Helper()
	r, ps := ReadRecipe("Dockerfile", []byte(text))
	if ps.Failed() {
		t.Fatalf("%v", ps)
	}
	var out []string
	for _, s := range r.Steps {
		out = append(out, s.String())
	}
	return out, r
}

func TestRecipe(t *testing.T) {
	got, r := recipeLines(t, `ARG TAG=3.12-slim
FROM --platform=linux/amd64 python:${TAG} AS final
ARG APP=/srv/app
ENV PATH=/opt/bin:$PATH GREETING="hi there"
ENV OLD form with blanks
LABEL a=b
RUN apt-get update \
    && echo "$HOME"
RUN ["python3", "-c", "print(1)"]
RUN <<EOF
set -e
echo one
EOF
RUN cat <<A > /x
text
A
COPY --chown=user:user --chmod=0755 a.txt b.txt $APP/
COPY ["d e", "/f"]
ADD dir ${APP}
WORKDIR $APP
USER ada
EXPOSE 9000
HEALTHCHECK CMD true
ENTRYPOINT ["python3"]
CMD ["commands.py"]
`)
	want := []string{
		"USER root", "WORKDIR /",
		"ENV APP /srv/app",
		"ENV PATH '/opt/bin:$PATH' GREETING 'hi there'",
		"ENV OLD 'form with blanks'",
		`RUN 'apt-get update     && echo "$HOME"'`,
		`RUN 'python3 -c '\''print(1)'\'''`,
		`RUN 'set -e\necho one\n'`,
		`RUN 'cat <<A > /x\ntext\nA\n'`,
		"COPY a.txt /srv/app/ user:user 0755",
		"COPY b.txt /srv/app/ user:user 0755",
		"COPY 'd e' /f '' ''",
		"COPY dir /srv/app '' ''",
		"WORKDIR /srv/app", "USER ada",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.From != "python:3.12-slim" || r.Start != "python3 commands.py" || !strings.Contains(r.Ready, "9000") {
		t.Errorf("%+v", r)
	}
}

// What a file leaves out is as the SDKs have it (e2b-protocol §12.7).
func TestRecipeDefaults(t *testing.T) {
	got, r := recipeLines(t, "FROM debian:12\nRUN echo hi\nCMD sleep 9\n")
	if diff := cmp.Diff([]string{"USER root", "WORKDIR /", "RUN 'echo hi'", "USER user", "WORKDIR /home/user"}, got); diff != "" {
		t.Error(diff)
	}
	if r.Start != "sleep 9" || r.Ready != "sleep 20" {
		t.Errorf("%+v", r)
	}
	if _, r = recipeLines(t, "FROM debian:12\n"); r.Start != "" || r.Ready != "" {
		t.Errorf("%+v", r)
	}
	if _, r = recipeLines(t, "FROM debian:12\nENTRYPOINT exec top\nCMD [\"lost\"]\n"); r.Start != "exec top" {
		t.Errorf("%+v", r)
	}
}

// What steps cannot say is refused with its line, all of it at once.
func TestRecipeRefuses(t *testing.T) {
	for _, line := range []string{
		"FROM debian:12",
		"FROM",
		"COPY --from=build /x /y",
		"COPY --parents a b /c/",
		"COPY ../x /y",
		"COPY a",
		"COPY <<EOF /x\ntext\nEOF",
		"ADD https://example.com/x /x",
		"ADD git@example.com:a/b.git /x",
		"ADD x.tar.gz /x",
		"RUN --mount=type=cache,target=/x true",
		"RUN <<EOF\n#!/usr/bin/python3\nprint(1)\nEOF",
		"COPY a $HOME/x",
		"WORKDIR $NOWHERE",
		"USER 1000",
		"USER ada:staff",
		`ENV A=\$HOME`,
		"ENV A='$HOME'",
		`SHELL ["/bin/zsh", "-c"]`,
		"ONBUILD RUN true",
		"FRM x",
	} {
		_, ps := ReadRecipe("Dockerfile", []byte("FROM alpine:3\nENV X=1\n"+line+"\n"))
		if !ps.Failed() || ps.Count(SeverityError) != 1 || ps[len(ps)-1].Line != 3 {
			t.Errorf("%s: %v", line, ps)
		}
	}
	for _, whole := range []string{"", "# nothing\n", "RUN x\n", "FROM scratch\n", "FROM --platform=linux/arm64 a\n"} {
		if _, ps := ReadRecipe("Dockerfile", []byte(whole)); !ps.Failed() {
			t.Errorf("%q: taken", whole)
		}
	}
	_, ps := ReadRecipe("Dockerfile", []byte("FROM a\nSHELL [\"x\"]\nUSER 7\nVOLUME /x\n"))
	if ps.Count(SeverityError) != 2 || ps.Count(SeverityInfo) != 1 {
		t.Errorf("%v", ps)
	}
}

func FuzzRecipe(f *testing.F) {
	f.Add("FROM a\nRUN <<E\nx\nE\nENV A=$B\nCOPY a b /c\nCMD [\"x\"]\n")
	f.Add("ARG A=1\nFROM $A AS b\nARG A\nUSER $A\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, ps := ReadRecipe("Dockerfile", []byte(text))
		if !ps.Failed() && (r.From == "" || len(r.Steps) < 4) {
			t.Fatalf("%+v", r)
		}
		for _, p := range ps {
			if strings.ContainsAny(p.Message+p.Excerpt, "\x1b\n") {
				t.Fatalf("%q", p.Message)
			}
		}
	})
}
