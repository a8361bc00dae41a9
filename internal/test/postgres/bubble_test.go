package postgres

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
)

// In a bubble, the database has the time of the bubble, time passes while a connection waits for news, and the news come.
func TestTimePassesInABubble(t *testing.T) {
	b := NewBubble(t)
	synctest.Test(t, func(t *testing.T) {
		config, err := pgx.ParseConfig(b.Copy(t))
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = b.Dial
		c, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		other, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close(t.Context())
		if _, err := c.Exec(t.Context(), "LISTEN news"); err != nil {
			t.Fatal(err)
		}
		came := make(chan struct{}, 1)
		go func() {
			defer c.Close(t.Context())
			if _, err := c.WaitForNotification(t.Context()); err != nil {
				t.Error(err)
			}
			came <- struct{}{}
		}()
		for range 3 {
			time.Sleep(time.Hour)
			var now time.Time
			if err := other.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now); err != nil || time.Until(now).Abs() > time.Millisecond {
				t.Errorf("the database's clock: %v, %v; want %v", now, err, time.Now())
			}
		}
		synctest.Wait()
		if len(came) > 0 {
			t.Error("news came that nobody sent")
		}
		if _, err := other.Exec(t.Context(), "NOTIFY news"); err != nil {
			t.Fatal(err)
		}
		<-came
	})
}
