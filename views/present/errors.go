package present

import (
	"context"
	"errors"

	"abxdash/client"
	"abxdash/ui/lang"
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
// hint comes first, then one by code. The dashboard words those by code in the
// user's language, with lang.Catalog.Word.
func Hint(err error) string {
	if h := client.HintOf(err); h != "" {
		return CleanMax(h, 200)
	}
	switch client.CodeOf(err) {
	case client.CodeAuth, client.CodeAuthMissing, client.CodeAuthExpired, client.CodeAuthAKSK:
		return lang.Mark("check the key with: abxdash doctor")
	case client.CodeTemplateMissing:
		return lang.Mark("leave the template empty for the provider's default")
	case client.CodeQuota:
		return lang.Mark("kill what is no longer needed (S shows strays), then try again")
	case client.CodeNetwork, client.CodeConnect:
		return lang.Mark("check the network and the provider's address")
	case client.CodeNotFound:
		return lang.Mark("abxdash ls shows what exists")
	case client.CodeAmbiguous:
		return lang.Mark("give more of the id, or provider/id")
	case client.CodeRateLimited:
		return lang.Mark("wait a little, then try again")
	case client.CodeLocalServer, client.CodeIsolation:
		return lang.Mark("see: abxdash doctor")
	default:
		return ""
	}
}
