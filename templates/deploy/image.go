package deploy

import (
	"strings"

	"github.com/distribution/reference"

	"abxdash/client"
)

// Place says where the image is pushed to.
type Place struct {
	// Registry is a host; "" is the personal edition's of the region.
	Registry string
	// Namespace may be "" for a registry without namespaces.
	Namespace string
	// Repository is "" for the template's name.
	Repository string
	// Tag is "" for one made of the version and the content.
	Tag string
	// Instance is the id of an ACR Enterprise instance, "" if it is none.
	Instance string
	// Local names an image that is not pushed: just repository and tag.
	Local bool
}

// personal is the default registry (templates-and-abx §5).
func personal(region string) string { return "registry." + region + ".aliyuncs.com" }

// ref is the image's full name.
func (p Place) ref(name, region, version, content string) (string, error) {
	const op = "name the image"
	host := p.host()
	if host == "" && !p.Local {
		if p.Namespace == "" {
			e := client.Usagef(op, "there is nowhere to push the image to")
			e.Hint = "give --acr-namespace, or --registry with --namespace, or --image of one that is pushed already"
			return "", e
		}
		host = personal(region)
	}
	repo := p.Repository
	if repo == "" {
		repo = name
	}
	tag := p.Tag
	if tag == "" {
		tag = content
		if v := tagText(version); v != "" {
			tag = v + "-" + content
		}
	}
	var parts []string
	if host != "" {
		parts = append(parts, host)
	}
	if p.Namespace != "" {
		parts = append(parts, p.Namespace)
	}
	ref := strings.Join(append(parts, repo), "/") + ":" + tag
	if _, err := reference.ParseNormalizedNamed(ref); err != nil {
		return "", client.Usagef(op, "%q is no image name", client.OneLine(ref, 160))
	}
	return ref, nil
}

// host is the registry without its scheme.
func (p Place) host() string {
	return strings.TrimRight(strings.TrimPrefix(p.Registry, "https://"), "/")
}

// tagText keeps of a version what a tag may hold.
func tagText(version string) string {
	text := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, strings.TrimSpace(version))
	return strings.Trim(text[:min(len(text), 100)], ".-")
}

// pullRef is the address that the platform pulls from: for an ACR Enterprise
// instance the private one of the same repository (templates-and-abx §5).
func (p Place) pullRef(ref string) string {
	host, rest, ok := strings.Cut(ref, "/")
	first, domain, dotted := strings.Cut(host, ".")
	if !ok || !dotted || p.Instance == "" || !strings.HasSuffix(domain, ".cr.aliyuncs.com") || strings.HasSuffix(first, "-vpc") {
		return ref
	}
	return first + "-vpc." + domain + "/" + rest
}

// registryType is what Express calls the registry, "" for others (alicloud-express §7).
func (p Place) registryType(ref string) string {
	host, _, _ := strings.Cut(ref, "/")
	switch {
	case p.Instance != "" || strings.HasSuffix(host, ".cr.aliyuncs.com"):
		return "acree"
	case strings.HasPrefix(host, "registry") && strings.HasSuffix(host, ".aliyuncs.com"):
		return "acr"
	}
	return ""
}
