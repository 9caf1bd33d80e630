package present

import (
	"context"
	"errors"

	"abxdash/client"
)

// ErrorLine words err for people in one line, "<what> (<code>)"; clean. It is
// "" for nil.
func ErrorLine(err error) string {
	if err == nil {
		return ""
	}
	msg := err.Error()
	var e *client.Error
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.DeadlineExceeded):
		msg = "no answer in time"
	case errors.Is(err, context.Canceled):
		msg = "cancelled"
	}
	return CleanMax(msg, 300) + " (" + string(client.CodeOf(err)) + ")"
}

// Hint is what the user can do about err, in one line, or "". A provider's own
// hint comes first, then one by code.
func Hint(err error) string {
	if h := client.HintOf(err); h != "" {
		return CleanMax(h, 200)
	}
	switch client.CodeOf(err) {
	case client.CodeAuth, client.CodeAuthMissing, client.CodeAuthExpired, client.CodeAuthAKSK:
		return "check the key with: abxdash doctor"
	case client.CodeTemplateMissing:
		return "leave the template empty for the provider's default"
	case client.CodeQuota:
		return "kill what is no longer needed (S shows strays), then try again"
	case client.CodeNetwork, client.CodeConnect:
		return "check the network and the provider's address"
	case client.CodeNotFound:
		return "abxdash ls shows what exists"
	case client.CodeAmbiguous:
		return "give more of the id, or provider/id"
	case client.CodeRateLimited:
		return "wait a little, then try again"
	case client.CodeLocalServer, client.CodeIsolation:
		return "see: abxdash doctor"
	default:
		return ""
	}
}
