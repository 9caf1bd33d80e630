package templates

import (
	"path"
	"strings"
)

// SecretName reports whether a variable of this name usually holds a secret.
// The names of files and paths do not.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, safe := range []string{"_PUBLIC_KEY", "_FILE", "_PATH", "_DIR", "_URL", "_NAME"} {
		if strings.HasSuffix(name, safe) {
			return false
		}
	}
	before := ""
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
		switch word {
		case "SECRET", "TOKEN", "PASSWORD", "PASSWD", "APIKEY", "CREDENTIAL", "CREDENTIALS", "SECRETS":
			return true
		case "KEY":
			// A key of its own may be any key: CACHE_KEY, PRIMARY_KEY.
			switch before {
			case "API", "ACCESS", "PRIVATE", "AUTH", "SIGNING", "ENCRYPTION", "MASTER", "SERVICE":
				return true
			}
		}
		before = word
	}
	return false
}

// secretPair reports whether a variable seems to be given a secret.
func secretPair(name, value string) bool {
	if !SecretName(name) || placeholder(value) {
		return false
	}
	// TOKEN_LIMIT=4096 is none, DB_PASSWORD=4096 is.
	return strings.Contains(strings.ToUpper(name), "PASSW") || strings.Trim(value, "0123456789.") != ""
}

// placeholder reports whether a value stands for one to be filled in.
func placeholder(v string) bool {
	v = strings.TrimSpace(v)
	switch strings.ToUpper(strings.Trim(v, "<>{}$")) {
	case "", "REPLACE_ME", "CHANGE_ME", "CHANGEME", "XXX", "NONE", "YOUR_KEY", "TRUE", "FALSE":
		return true
	}
	return strings.HasPrefix(v, "$")
}

// token describes one kind of secret that can be told by its looks.
type token struct {
	kind, prefix string
	// least is how many word characters follow the prefix at least.
	least int
}

func tokens() []token {
	return []token{
		{"an Alibaba Cloud access key", "LTAI", 12},
		{"an AWS access key", "AKIA", 16},
		{"an E2B key", "e2b_", 20},
		{"an E2B key", "sk_e2b_", 20},
		{"an API key", "sk-", 20},
		{"a GitHub token", "ghp_", 20},
		{"a GitHub token", "gho_", 20},
		{"a GitHub token", "ghs_", 20},
		{"a GitHub token", "github_pat_", 20},
		{"a GitLab token", "glpat-", 16},
		{"a Slack token", "xoxb-", 16},
		{"a Slack token", "xoxp-", 16},
		{"a PyPI token", "pypi-", 24},
		{"an npm token", "npm_", 30},
		{"a Google key", "AIza", 30},
	}
}

// SecretText names the kind of secret that text seems to hold, "" if none.
func SecretText(text string) string {
	if i := strings.Index(text, "-----BEGIN "); i >= 0 && strings.Contains(text[i:], "PRIVATE KEY") {
		return "a private key"
	}
	for _, t := range tokens() {
		if hasToken(text, t) {
			return t.kind
		}
	}
	if urlPassword(text) {
		return "a password in a URL"
	}
	return ""
}

func hasToken(text string, t token) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], t.prefix)
		if i < 0 {
			return false
		}
		i += from
		from = i + len(t.prefix)
		if i > 0 && wordByte(text[i-1]) {
			continue
		}
		n, digits, letters := 0, 0, 0
		for _, b := range []byte(text[from:]) {
			if !wordByte(b) && b != '-' {
				break
			}
			n++
			switch {
			case b >= '0' && b <= '9':
				digits++
			case b != '-' && b != '_':
				letters++
			}
		}
		// Words such as sk-learn-contrib-something have no digits.
		if n >= t.least && digits > 0 && letters > 0 {
			return true
		}
	}
}

func wordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// urlPassword finds scheme://user:password@host with a literal password.
func urlPassword(text string) bool {
	for {
		i := strings.Index(text, "://")
		if i < 0 {
			return false
		}
		text = text[i+3:]
		auth := text
		if end := strings.IndexAny(auth, "/ \t\"'`<>"); end >= 0 {
			auth = auth[:end]
		}
		at := strings.LastIndexByte(auth, '@')
		if at < 0 {
			continue
		}
		if _, pw, ok := strings.Cut(auth[:at], ":"); ok && !placeholder(pw) && len(pw) > 3 {
			return true
		}
	}
}

// SecretFile says why a file of this name usually holds a secret, "" if it does not.
func SecretFile(name string) string {
	name = strings.ToLower(name)
	base := path.Base(name)
	switch base {
	case ".env":
		return "environment file"
	case ".netrc", "_netrc", ".pypirc", ".git-credentials", ".htpasswd", "credentials.json", "kubeconfig", ".vault-token":
		return "credentials"
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519":
		return "private key"
	}
	if rest, ok := strings.CutPrefix(base, ".env."); ok {
		for _, harmless := range []string{"example", "sample", "template", "dist"} {
			if rest == harmless || strings.HasSuffix(rest, "."+harmless) {
				return ""
			}
		}
		return "environment file"
	}
	switch path.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk":
		return "private key"
	}
	for _, known := range []string{
		".aws/credentials", ".docker/config.json", ".claude/settings.local.json", ".kube/config", ".abx/.env", ".ssh/config",
		".config/gcloud/application_default_credentials.json", ".claude/.credentials.json", ".codex/auth.json",
	} {
		if name == known || strings.HasSuffix(name, "/"+known) {
			return "credentials"
		}
	}
	if strings.HasPrefix(base, "service-account") && strings.HasSuffix(base, ".json") {
		return "credentials"
	}
	return ""
}

// mayHoldToken reports whether a file of this name is read for secrets although
// the name is harmless.
func mayHoldToken(name string) bool {
	base := path.Base(strings.ToLower(name))
	switch base {
	case "config", ".npmrc", ".yarnrc.yml", "pip.conf", "config.toml", "config.json", "settings.json", ".gitconfig":
		return true
	}
	switch path.Ext(base) {
	case ".py", ".sh", ".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".txt", ".js", ".ts", ".conf", ".properties":
		return true
	}
	return false
}
