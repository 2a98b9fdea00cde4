package wire

import (
	"errors"
	"strings"
	"testing"

	"tandem/agent/model"
)

// TestFindingS21KeyInClear sends a key over http:// to this machine only, or where its person has said so.
func TestFindingS21KeyInClear(t *testing.T) {
	for _, c := range []struct {
		service Service
		sent    bool
	}{
		{Service{BaseURL: "http://models.example/v1", Key: "canary"}, false},
		{Service{BaseURL: "http://192.168.1.7:8000/v1", Key: "canary"}, false},
		{Service{BaseURL: "http://localhost.example/v1", Key: "canary"}, false},
		{Service{BaseURL: "http://127.0.0.1.example/v1", Key: "canary"}, false},
		{Service{BaseURL: "HTTP://models.example/v1", Key: "canary"}, false},
		{Service{BaseURL: "http://models.example/v1", Headers: map[string]string{"X-API-Key": "canary"}}, false},
		{Service{BaseURL: "http://ann:canary@models.example/v1"}, false},
		{Service{BaseURL: "http://models.example/v1?key=canary"}, false},
		{Service{BaseURL: "http://models.example/v1", Key: "canary", InClear: true}, true},
		{Service{BaseURL: "https://models.example/v1", Key: "canary"}, true},
		{Service{BaseURL: "http://models.example/v1", Headers: map[string]string{"X-Team": "blue"}}, true},
		{Service{BaseURL: "http://127.0.0.1:11434/v1", Key: "canary"}, true},
		{Service{BaseURL: "http://127.8.9.1/v1", Key: "canary"}, true},
		{Service{BaseURL: "http://[::1]:1/v1", Key: "canary"}, true},
		{Service{BaseURL: "http://[::ffff:127.0.0.1]:1/v1", Key: "canary"}, true},
		{Service{BaseURL: "http://LocalHost:1/v1", Key: "canary"}, true},
	} {
		c.service.Provider = "mock"
		_, err := New(c.service)
		var e *model.Error
		refused := errors.As(err, &e) && e.Kind == "unavailable" && strings.Contains(e.Message, "providers.mock.sendKeyInClear") &&
			!strings.Contains(e.Message, "canary")
		if refused == c.sent || err != nil && !refused {
			t.Errorf("%+v: %v", c.service, err)
		}
	}
}
