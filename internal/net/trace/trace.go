// Package trace gives each request an ID, and carries it in the context, into log lines, and into
// outgoing requests.
//
// The ID is the trace and the span of W3C Trace Context (https://www.w3.org/TR/trace-context/),
// joined by a hyphen. The trace is the caller's if the request has a valid traceparent, otherwise a
// new one. The span is always new, so no two requests have the same ID. An ID is no secret and
// proves nothing, because callers choose the trace.
package trace

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
)

// Header is the header of a request by which its sender names the trace and the span that it belongs to.
const Header = "Traceparent"

// Lengths in the text of a traceparent: version, trace, span and flags in lowercase hexadecimal, joined by hyphens.
const (
	traceLen = 32
	spanLen  = 16
	idLen    = traceLen + 1 + spanLen
	prefix   = len("00-")
	textLen  = prefix + idLen + len("-00")
)

// traced is the context of a request. It is its own value, so that a request costs one allocation and not three.
type traced struct {
	context.Context
	id    [1]string // as the value of a header
	flags string
}

type key struct{}

func (t *traced) Value(k any) any {
	if k == (key{}) {
		return t
	}
	return t.Context.Value(k)
}

// Begin returns the context of a request that has come with the header h, and the request's id as the value of a header of its answer.
func Begin(ctx context.Context, h http.Header) (context.Context, []string) {
	var id [idLen]byte
	flags := "00"
	if parent := h[Header]; len(parent) == 1 && valid(parent[0]) {
		copy(id[:traceLen], parent[0][prefix:])
		if sampled(parent[0]) {
			flags = "01"
		}
	} else {
		random(id[:spanLen])
		random(id[spanLen:traceLen])
	}
	id[traceLen] = '-'
	random(id[traceLen+1:])
	t := &traced{ctx, [1]string{string(id[:])}, flags}
	return t, t.id[:]
}

// random fills text, 16 characters, with the hexadecimal digits of a random number that is not 0.
func random(text []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], rand.Uint64N(1<<64-1)+1)
	hex.Encode(text, n[:])
}

// valid reports whether text is a traceparent. One of a later version may have more behind what this version has.
func valid(text string) bool {
	if len(text) < textLen || len(text) > textLen && (text[:2] == "00" || text[textLen] != '-') {
		return false
	}
	span := prefix + traceLen + 1
	trace, parent := text[prefix:prefix+traceLen], text[span:span+spanLen]
	return text[2] == '-' && text[span-1] == '-' && text[span+spanLen] == '-' &&
		text[:2] != "ff" && isHex(text[:2]) && isHex(trace) && isHex(parent) && isHex(text[textLen-2:textLen]) &&
		strings.Trim(trace, "0") != "" && strings.Trim(parent, "0") != ""
}

// IDForm says what IsID takes, for messages to people.
const IDForm = "the id of a request, as errors and log lines name it, nor the first 32 hexadecimal digits of one"

// IsID reports whether text has the form of an id, or of the trace that begins one.
func IsID(text string) bool {
	trace, span, found := strings.Cut(text, "-")
	return len(trace) == traceLen && isHex(trace) && (!found || len(span) == spanLen && isHex(span))
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// sampled reports whether the caller of a valid traceparent records the trace: the last bit of its flags.
func sampled(text string) bool { return strings.IndexByte("0123456789abcdef", text[textLen-1])&1 == 1 }

func of(ctx context.Context) *traced {
	t, _ := ctx.Value(key{}).(*traced)
	return t
}

// ID returns the id of the request that ctx belongs to, or "" if there is none.
func ID(ctx context.Context) string {
	if t := of(ctx); t != nil {
		return t.id[0]
	}
	return ""
}

// Keep returns ctx with the id of the request that from belongs to, and nothing else of from.
func Keep(ctx, from context.Context) context.Context {
	if t := of(from); t != nil {
		return &traced{ctx, t.id, t.flags}
	}
	return ctx
}

// Pass returns the header h of a request that is to be sent, with a traceparent that names the request that caused it, if ctx
// belongs to one. h itself stays as it is.
func Pass(ctx context.Context, h http.Header) http.Header {
	if cause := of(ctx); cause != nil {
		h = h.Clone()
		h.Set(Header, "00-"+cause.id[0]+"-"+cause.flags)
	}
	return h
}

// LogHandler passes records to the handler next, with the id of the request that they belong to as "request".
func LogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := ID(ctx); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("request", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}
