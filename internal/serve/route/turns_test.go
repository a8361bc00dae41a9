package route

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/encoded"
)

// slowReader takes the first byte when it is let.
type slowReader struct {
	*httptest.ResponseRecorder
	takes chan struct{}
}

func (s *slowReader) Write(b []byte) (int, error) {
	<-s.takes
	return s.ResponseRecorder.Write(b)
}

// A costly answer is made in turns, and its turn is over when it is sent: one whose reader is slow holds up
// no other.
func TestACostlyAnswerHoldsItsTurnUntilItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Router{Budget: encoded.NewBudget(encoded.DefaultLimits), turns: encoded.NewTurns(1)}
		making, sent := make(chan struct{}), make(chan string, 2)
		ask := func(w http.ResponseWriter, name string, made chan struct{}) {
			err := a.HoldInTurns(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), &auth.Caller{Name: name}, 1, func(w http.ResponseWriter, r *http.Request) error {
				if made != nil {
					<-made
				}
				if err := Pause(r.Context()); err != nil {
					return err
				}
				_, err := w.Write([]byte(name))
				return err
			})
			if err != nil {
				t.Error(err)
			}
			sent <- name
		}
		slow := &slowReader{httptest.NewRecorder(), make(chan struct{})}
		go ask(slow, "slow", making)
		synctest.Wait()
		go ask(httptest.NewRecorder(), "other", nil)
		synctest.Wait()
		if len(sent) != 0 {
			t.Error("two costly answers are made at once")
		}
		close(making)
		synctest.Wait()
		if len(sent) != 1 || <-sent != "other" {
			t.Error("the other one waits for a slow reader")
		}
		close(slow.takes)
		synctest.Wait()
		if len(sent) != 1 || slow.Body.String() != "slow" {
			t.Errorf("the slow one got %q", slow.Body)
		}
	})
}
