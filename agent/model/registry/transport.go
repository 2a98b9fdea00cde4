package registry

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"

	"tandem/agent/config"
	"tandem/agent/model/wire"
)

// transport carries the requests of one provider: through its proxy, and trusting its certificates
// besides those of the system. Without either it is the common one, which follows HTTPS_PROXY,
// NO_PROXY and SSL_CERT_FILE.
func (r *Registry) transport(name string, p config.Provider) (http.RoundTripper, error) {
	common, ok := r.Transport.(*http.Transport)
	if p.Proxy == "" && p.CAFile == "" || !ok && r.Transport != nil {
		return r.Transport, nil
	}
	if common == nil {
		common = http.DefaultTransport.(*http.Transport)
	}
	t := common.Clone()
	switch u, err := url.Parse(p.Proxy); {
	case p.Proxy == "":
	case p.Proxy == "none":
		t.Proxy = nil
	case err != nil || u.Host == "":
		return nil, unavailable("The proxy of the provider %s is no address: set providers.%s.proxy to something like "+
			"http://proxy:3128, or to \"none\".", name, name)
	default:
		t.Proxy = http.ProxyURL(u)
	}
	if p.CAFile == "" {
		return t, nil
	}
	pem, err := config.ReadFile(p.CAFile)
	if err != nil {
		return nil, unavailable("The certificates of the provider %s cannot be read from %s (providers.%s.caFile): %s.",
			name, p.CAFile, name, config.Reason(err))
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, unavailable("There is no certificate in PEM form in %s (providers.%s.caFile).", p.CAFile, name)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool}
	return t, nil
}

// Transport gives what carries the requests of a program: the default one with room for a whole
// request, which then takes one write and no copy on the way.
func Transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.WriteBufferSize = 64 << 10
	t.DialContext = wire.Gathering(t.DialContext)
	return t
}
