package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hazardd/hazardd/internal/test/child"
)

// Standby makes a standby of s in dir, which must not exist: a copy of its data that follows by a replication slot of the name given, over a
// port of the loopback network, which may be that of something that cuts the two off; 0: s's own. It is started on port, 0 a free one. The
// name is what synchronous_standby_names may name.
func (s *Server) Standby(dir, name string, over, port int) (*Server, error) {
	if over == 0 {
		over = s.Port
	}
	// The slot keeps what the standby has not got yet.
	if err := s.Exec("SELECT pg_create_physical_replication_slot($1) WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1)", name); err != nil {
		return nil, err
	}
	conn := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres application_name=%s", over, name)
	out, err := command(s.bin, "pg_basebackup", "-D", dir, "-d", conn, "-S", name, "-R", "-X", "stream", "-c", "fast", "--no-sync").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	return Start(s.bin, dir, port)
}

// Synchronous makes commits wait until a standby has them on disk: one of those that names lists, as synchronous_standby_names wants it, "*" for
// any; empty: none.
func (s *Server) Synchronous(names string) error {
	// A statement that cannot have parameters.
	if err := s.Exec("ALTER SYSTEM SET synchronous_standby_names = '" + strings.ReplaceAll(names, "'", "''") + "'"); err != nil {
		return err
	}
	return s.Exec("SELECT pg_reload_conf()")
}

// Streaming waits until a standby of that name follows: in step with each commit, if synchronous.
func (s *Server) Streaming(ctx context.Context, name string, synchronous bool) error {
	return s.until(ctx, "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = $1 AND state = 'streaming' AND (sync_state = 'sync' OR NOT $2))", name, synchronous)
}

// Promote makes a primary of a standby, which then waits for no standby of its own. It returns when it takes writes.
func (s *Server) Promote(ctx context.Context) error {
	return errors.Join(s.Synchronous(""), s.Exec("SELECT pg_promote(false)"), s.until(ctx, "SELECT NOT pg_is_in_recovery()"))
}

// Exec runs a statement in the database postgres.
func (s *Server) Exec(statement string, args ...any) error {
	return s.execIn("postgres", statement, args...)
}

func (s *Server) execIn(database, statement string, args ...any) error {
	d, err := sql.Open("pgx", s.URL(database))
	if err != nil {
		return err
	}
	_, err = d.Exec(statement, args...)
	return errors.Join(err, d.Close())
}

// until waits until a question is answered with yes.
func (s *Server) until(ctx context.Context, question string, args ...any) (err error) {
	d, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for {
		var yes bool
		if err := d.QueryRowContext(ctx, question, args...).Scan(&yes); err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), question)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Restart starts a server again that was stopped, on its port.
func (s *Server) Restart() (*Server, error) { return Start(s.bin, s.Dir, s.Port) }

// Kill ends all processes of the server in one moment, as a machine that stops. Killing only the first process would let the
// others finish their work.
func (s *Server) Kill() error {
	first := s.cmd.Process.Pid
	if err := child.Halt(s.cmd.Process); err != nil { // so that it neither starts others nor tells them to end
		return errors.Join(err, s.Stop(syscall.SIGKILL))
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", first, first))
	for _, word := range strings.Fields(string(text)) {
		if pid, bad := strconv.Atoi(word); bad == nil {
			p, found := os.FindProcess(pid) // always, on Unix
			if killed := errors.Join(found, p.Kill()); killed != nil && !errors.Is(killed, os.ErrProcessDone) {
				err = errors.Join(err, killed)
			}
		}
	}
	return errors.Join(err, s.Stop(syscall.SIGKILL))
}
