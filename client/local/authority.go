package local

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// caLife is how long certificates of one run are good for.
	caLife = 30 * 24 * time.Hour
	// maxCerts bounds how many names are kept; a name is made anew when needed.
	maxCerts = 1000
)

// authority signs the certificates of one run of Listen. Its key is never
// stored, and it can vouch for names of this machine only.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	now  time.Time

	mu    sync.Mutex
	certs map[string]*tls.Certificate
}

func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	tmpl := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "abxdash local listen"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(caLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage:                    x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         []string{"localhost"},
		PermittedIPRanges: []*net.IPNet{
			{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)},
			{IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)},
		},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{key: key, cert: cert, now: now, certs: map[string]*tls.Certificate{}}, nil
}

func serial() *big.Int {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails on a supported system
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}

// save writes the certificate, which is no secret, beside the server's socket.
func (a *authority) save(dir string, port int) (string, error) {
	path := filepath.Join(dir, fmt.Sprintf("listen-%d-ca.pem", port))
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	return path, os.WriteFile(path, data, 0o600)
}

// listener serves TLS, HTTP/1.1 only: web sockets and answers that overtake
// their requests need it.
func (a *authority) listener(ln net.Listener) net.Listener {
	return tls.NewListener(ln, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: a.certificate,
	})
}

// certificate makes one for the name asked for. Some clients refuse a wildcard
// directly below localhost, so every port's host gets its own.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if name == "" {
		name = "localhost" // a client that was given an address names nothing
	}
	if name != "localhost" && !strings.HasSuffix(name, ".localhost") {
		return nil, fmt.Errorf("no certificate for a name outside localhost")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.certs[name]; c != nil {
		return c, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	tmpl := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: a.now.Add(-time.Hour), NotAfter: a.now.Add(caLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	if len(a.certs) >= maxCerts {
		clear(a.certs)
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: key}
	a.certs[name] = c
	return c, nil
}

// removeFile removes a file of this run; that it cannot is only worth a line.
func removeFile(path string, log *slog.Logger) {
	if err := os.Remove(path); err != nil {
		log.Warn("file left", "path", path, "err", err)
	}
}
