package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/client"
)

func TestLogsInWhenItFirstNeedsTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		c := ask(t, atRoot{server})
		if len(server.asked) != 0 {
			t.Fatalf("New asked the server %v", server.asked)
		}
		for range 3 {
			if _, err := c.Types(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if server.logins != 1 || server.count("GET /hazards/types") != 3 {
			t.Errorf("requests %v, expected one login and three reads", server.asked)
		}
	})
}

func TestHoweverManyWaitOneLoginIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		server.answer["POST /authorize"] = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			server.authorize(w, r)
		}
		c := ask(t, atRoot{server})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := c.Active(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		server.forgetAll() // revoked: each request is refused, and one of them gets a new token for all
		time.Sleep(time.Minute)
		for range 50 {
			all.Go(func() {
				if _, err := c.Active(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if server.logins != 2 {
			t.Errorf("%d logins, expected 2", server.logins)
		}
	})
}

func TestWithoutARefreshPathItLogsInBeforeTheTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		c := ask(t, atRoot{server})
		for range 60 { // one hour, in which a token of 15 minutes expires four times
			if _, err := c.Active(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if n := server.count("POST /authorize/refresh"); n != 1 {
			t.Errorf("%d requests for an unsupported refresh, expected one", n)
		}
		if server.logins != 5 || server.count("GET /hazards/active") != 60 {
			t.Errorf("%d logins and %d reads, expected 5 and 60, none refused", server.logins, server.count("GET /hazards/active"))
		}
	})
}

// refreshing returns a plain server that also supports refresh: each refresh token works once.
func refreshing() *plain {
	server, n := newPlain(), 0
	good := ""
	server.answer["POST /authorize"] = func(w http.ResponseWriter, r *http.Request) {
		server.authorize(w, r)
		good = "opaque refresh token"
	}
	server.answer["POST /authorize/refresh"] = func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if good == "" || string(body) != fmt.Sprintf(`{"refreshToken":%q}`, good) {
			http.Error(w, "Authentication failed.", http.StatusUnauthorized)
			return
		}
		n++
		good = fmt.Sprintf("refresh-%d", n)
		token := jwt(1000+n, time.Now(), time.Now().Add(server.expires))
		server.mu.Lock()
		server.valid[token] = true
		server.mu.Unlock()
		time.AfterFunc(server.expires, func() { server.forget(token) })
		_, _ = fmt.Fprintf(w, `{"accessToken":%q,"refreshToken":%q}`, token, good)
	}
	return server
}

func TestRefreshesQuietlyBeforeTheTokenExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := refreshing()
		c := ask(t, atRoot{server})
		for range 600 {
			if _, err := c.Active(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if server.logins != 1 || server.count("GET /hazards/active") != 600 {
			t.Errorf("%d logins and %d reads, expected 1 and 600, none refused", server.logins, server.count("GET /hazards/active"))
		}
		if n := server.count("POST /authorize/refresh"); n < 40 || n > 45 {
			t.Errorf("%d refreshes in ten hours of tokens of 15 minutes", n)
		}
	})
}

func TestWhileOneRefreshesTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := refreshing()
		quick := server.answer["POST /authorize/refresh"]
		server.answer["POST /authorize/refresh"] = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Second)
			quick(w, r)
		}
		c := ask(t, atRoot{server})
		if _, err := c.Active(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(14*time.Minute + 10*time.Second)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := c.Active(t.Context()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		before := time.Now()
		if _, err := c.Active(t.Context()); err != nil || time.Since(before) != 0 {
			t.Errorf("waited %s, error %v", time.Since(before), err)
		}
		all.Wait()
		if n := server.count("POST /authorize/refresh"); n != 1 {
			t.Errorf("%d refreshes, expected 1", n)
		}
	})
}

func TestALostRefreshIsAskedForAgainAndThenLoggedIn(t *testing.T) {
	for name, tt := range map[string]struct{ lost, refreshes, logins int }{
		"the answer is lost once":     {1, 2, 1},
		"the answer is lost for good": {99, 2, 1}, // the old token is still valid: no login yet
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := refreshing()
				c := ask(t, losing{server, &tt.lost})
				if _, err := c.Active(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(14*time.Minute + 10*time.Second)
				if _, err := c.Active(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := server.count("POST /authorize/refresh"); n != tt.refreshes || server.logins != tt.logins {
					t.Errorf("%d refreshes and %d logins, expected %d and %d", n, server.logins, tt.refreshes, tt.logins)
				}
			})
		})
	}
}

// losing loses some answers to refreshes that the server has already processed.
type losing struct {
	server *plain
	lost   *int
}

func (l losing) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/refresh") && *l.lost > 0 {
		*l.lost--
		l.server.mu.Lock()
		l.server.asked = append(l.server.asked, "POST /authorize/refresh")
		l.server.mu.Unlock()
		return nil, errors.New("connection reset by peer")
	}
	return atRoot{l.server}.RoundTrip(r)
}

func TestARefusedRefreshTokenLeadsToALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := refreshing()
		server.answer["POST /authorize/refresh"] = func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Authentication failed.", http.StatusUnauthorized)
		}
		c := ask(t, atRoot{server})
		for range 2 {
			if _, err := c.Active(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if server.logins != 2 || server.count("GET /hazards/active") != 2 {
			t.Errorf("asked %v", server.asked)
		}
	})
}

func TestARefusedTokenIsFollowedByOneLoginAndOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		c := ask(t, atRoot{server})
		if _, err := c.Active(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		server.forgetAll()
		if _, err := c.Active(t.Context()); err != nil {
			t.Fatal(err)
		}
		if server.logins != 2 || server.count("GET /hazards/active") != 3 {
			t.Errorf("asked %v", server.asked)
		}
	})
}

func TestAServerThatRefusesEveryTokenIsNotAskedForEver(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"403 Invalid Token":  func(w http.ResponseWriter) { http.Error(w, "Invalid Token", http.StatusForbidden) },
		"403 without a body": func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) },
		"403 of a gateway": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"message":"The incoming token has expired"}`)
		},
		"401": func(w http.ResponseWriter) { http.Error(w, "no", http.StatusUnauthorized) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newPlain()
				server.answer["GET /hazards/active"] = func(w http.ResponseWriter, _ *http.Request) { refuse(w) }
				c := ask(t, atRoot{server})
				for range 20 {
					if _, err := c.Active(t.Context()); !errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrForbidden) {
						t.Fatalf("error %v, expected only ErrUnauthorized", err)
					}
				}
				if server.logins != 1 || server.count("GET /hazards/active") != 20 {
					t.Errorf("at once: %d logins and %d reads, expected 1 and 20: another token of the same moment is no better", server.logins, server.count("GET /hazards/active"))
				}
				time.Sleep(time.Minute)
				_, _ = c.Active(t.Context())
				if server.logins != 2 || server.count("GET /hazards/active") != 22 {
					t.Errorf("later: %d logins and %d reads, expected 2 and 22", server.logins, server.count("GET /hazards/active"))
				}
			})
		})
	}
}

func TestWhatTheRoleDoesNotAllowIsNoReasonToLogIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		server.answer["POST /hazards"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"type":"about:blank","title":"Forbidden","status":403,"detail":"this takes the role editor"}`)
		}
		c := ask(t, atRoot{server})
		_, err := c.Editor().CreateHazard(t.Context(), client.NewHazard{})
		if !errors.Is(err, client.ErrForbidden) || errors.Is(err, client.ErrUnauthorized) || !strings.Contains(err.Error(), "this takes the role editor") || server.logins != 1 {
			t.Errorf("error %v after %d logins", err, server.logins)
		}
	})
}

func TestAFailedLoginIsToldToAllWhoWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		server.answer["POST /authorize"] = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			server.authorize(w, r)
		}
		c := ask(t, atRoot{server}, func(o *client.Options) { o.Password = "wrong" })
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				_, err := c.Active(t.Context())
				if !errors.Is(err, client.ErrUnauthorized) || !strings.Contains(err.Error(), "Authentication failed") {
					t.Errorf("error %v", err)
				}
			})
		}
		all.Wait()
		if n := server.count("POST /authorize"); n != 1 {
			t.Errorf("%d logins, expected 1: the others would be failed logins of the same user", n)
		}
	})
}

func TestAServerThatWantsToBeLeftAloneIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		server.answer["POST /authorize"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			http.Error(w, "too many failed logins", http.StatusTooManyRequests)
		}
		c := ask(t, atRoot{server})
		for range 29 {
			_, err := c.Active(t.Context())
			if p, ok := errors.AsType[*client.Problem](err); !ok || !errors.Is(err, client.ErrLimited) || p.RetryAfter != 30*time.Second {
				t.Fatalf("error %v", err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Second)
		_, _ = c.Active(t.Context())
		if n := server.count("POST /authorize"); n != 2 {
			t.Errorf("%d logins, expected 2", n)
		}
	})
}

func TestWhoGivesUpDoesNotTakeTheOthersAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		server.answer["POST /authorize"] = func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(10 * time.Second):
				server.authorize(w, r)
			case <-r.Context().Done():
			}
		}
		c := ask(t, atRoot{server})
		var all sync.WaitGroup
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		all.Go(func() {
			if _, err := c.Active(impatient); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := c.Active(t.Context()); err != nil {
				t.Errorf("the second: %v", err)
			}
		})
		all.Wait()
	})
}

func TestTheClientsClockDoesNotMatter(t *testing.T) {
	for name, skew := range map[string]time.Duration{"three hours ahead of the server": 3 * time.Hour, "three hours behind": -3 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newPlain()
				server.answer["POST /authorize"] = func(w http.ResponseWriter, _ *http.Request) {
					server.mu.Lock()
					defer server.mu.Unlock()
					server.logins++
					theirs := time.Now().Add(-skew)
					token := jwt(server.logins, theirs, theirs.Add(15*time.Minute))
					server.valid[token] = true
					time.AfterFunc(15*time.Minute, func() { server.forget(token) })
					_, _ = fmt.Fprintf(w, `{"accessToken":%q,"refreshToken":null}`, token)
				}
				c := ask(t, atRoot{server})
				for range 60 {
					if _, err := c.Active(t.Context()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
				}
				if server.logins != 5 || server.count("GET /hazards/active") != 60 {
					t.Errorf("%d logins and %d reads, expected 5 and 60", server.logins, server.count("GET /hazards/active"))
				}
			})
		})
	}
}

func TestATokenThatDoesNotSayWhenItExpiresIsUsedUntilItIsRefused(t *testing.T) {
	for name, token := range map[string]string{
		"opaque": "opaque", "no JSON in it": "a.!!!.c", "no exp": "e30.e30.c", "exp is a word": "e30.eyJleHAiOiJzb29uIn0.c", "exp in 1970": jwt(1, time.Unix(0, 0), time.Unix(1, 0)),
		"exp before iat": jwt(1, time.Unix(2e9, 0), time.Unix(1e9, 0)), "exp is endless": "e30.eyJleHAiOjFlOTl9.c",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newPlain()
				server.answer["POST /authorize"] = func(w http.ResponseWriter, _ *http.Request) {
					server.logins++
					server.valid[token] = true
					_, _ = fmt.Fprintf(w, `{"accessToken":%q}`, token)
				}
				c := ask(t, atRoot{server})
				for range 5 {
					if _, err := c.Active(t.Context()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Hour)
				}
				server.forgetAll()
				if _, err := c.Active(t.Context()); err != nil || server.logins > 6 {
					t.Errorf("error %v after %d logins", err, server.logins)
				}
			})
		})
	}
}

func TestAGivenTokenIsUsedAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := refreshing()
		given := jwt(7, time.Now(), time.Now().Add(time.Hour))
		server.valid[given] = true
		c := ask(t, atRoot{server}, func(o *client.Options) { o.Username, o.Password, o.Token = "", "", given })
		for range 3 {
			if _, err := c.Active(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // by our clock its exp has passed, but the server decides
		}
		server.forgetAll()
		if _, err := c.Active(t.Context()); !errors.Is(err, client.ErrUnauthorized) {
			t.Errorf("error %v", err)
		}
		if n := server.count("POST /authorize") + server.count("POST /authorize/refresh"); n != 0 {
			t.Errorf("%d requests for tokens without anything to get them by", n)
		}
	})
}

func TestARefreshTokenIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := refreshing()
		first := ask(t, atRoot{server})
		if _, err := first.Active(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := ask(t, atRoot{server}, func(o *client.Options) { o.Username, o.Password, o.RefreshToken = "", "", "opaque refresh token" })
		for range 5 {
			if _, err := c.Active(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if server.logins != 1 {
			t.Errorf("%d logins", server.logins)
		}
	})
}

func TestATokenThatNoHeaderTakesIsRefused(t *testing.T) {
	for _, token := range []string{"", "a b", "a\r\nX-Evil: 1", "tök"} {
		synctest.Test(t, func(t *testing.T) {
			server := newPlain()
			server.answer["POST /authorize"] = func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprintf(w, `{"accessToken":%q}`, token)
			}
			_, err := ask(t, atRoot{server}).Active(t.Context())
			if _, ok := errors.AsType[*client.AnswerError](err); !ok || server.count("GET /hazards/active") != 0 {
				t.Errorf("%q: error %v", token, err)
			}
		})
	}
}

// A refresh token is used up by its first use, so the pair that a cancelled call has requested must
// not be lost.
func TestARefreshOutlivesTheCallThatCausedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlain()
		spent := 0
		server.answer["POST /authorize/refresh"] = func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if want := fmt.Sprintf(`{"refreshToken":"pair %d"}`, spent); string(body) != want {
				t.Errorf("refreshed with %s, expected %s: the server revokes the session", body, want)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			spent++
			time.Sleep(2 * time.Second)
			token := jwt(spent, time.Now(), time.Now().Add(server.expires))
			server.mu.Lock()
			server.valid[token] = true
			server.mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"accessToken":%q,"refreshToken":"pair %d"}`, token, spent)
		}
		c := ask(t, waiting{atRoot{server}}, func(o *client.Options) { o.Username, o.Password, o.RefreshToken = "", "", "pair 0" })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := c.Active(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Second {
			t.Fatalf("the call ended after %v with %v, expected its deadline", time.Since(began), err)
		}
		for range 3 {
			if _, err := c.Active(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if spent != 1 {
			t.Errorf("%d pairs were requested, expected 1", spent)
		}
	})
}

// waiting answers like a network: an abandoned request ends at once, although the server continues.
type waiting struct{ server http.RoundTripper }

func (w waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	type answer struct {
		resp *http.Response
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		resp, err := w.server.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		answered <- answer{resp, err}
	}()
	select {
	case a := <-answered:
		return a.resp, a.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
