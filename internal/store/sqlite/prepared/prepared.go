// Package prepared keeps statements of SQLite connections prepared, below database/sql. SQLite
// takes a tenth of a millisecond to parse and plan a statement, as long as most of ours run.
//
// Each connection prepares a statement on first use, and keeps the most recently used ones. Callers
// pass texts, as with PostgreSQL, whose driver does the same.
package prepared

import (
	"context"
	"database/sql/driver"
	"slices"
	"sync/atomic"
)

// maxIdle bounds how many idle statements a connection keeps, some 10 kB each: all of the program, and the latest searches.
const maxIdle = 256

// Connector makes connections that keep statements prepared, of another connector of modernc.org/sqlite.
type Connector struct {
	driver.Connector
	// Generation, if not nil, is that of the connections: those of an earlier one are closed when
	// they come back.
	Generation *atomic.Int64
}

// Connect is that of driver.Connector.
func (p Connector) Connect(ctx context.Context) (driver.Conn, error) {
	var generation int64
	if p.Generation != nil {
		generation = p.Generation.Load()
	}
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{sqlite: c.(sqlite), generation: generation, now: p.Generation}, nil
}

// sqlite is what a connection of modernc.org/sqlite can do.
type sqlite interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection. database/sql sees to it that one caller at a time uses it, and the rows that it returned.
type conn struct {
	sqlite
	idle       []statement // the one that was used last is the last
	generation int64
	now        *atomic.Int64 // the present generation, or nil
}

func (c *conn) past() bool { return c.now != nil && c.now.Load() != c.generation }

// IsValid is that of driver.Validator: a connection that comes back.
func (c *conn) IsValid() bool { return !c.past() && c.sqlite.IsValid() }

// ResetSession is that of driver.SessionResetter: a connection that is taken again.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.past() {
		return driver.ErrBadConn
	}
	return c.sqlite.ResetSession(ctx)
}

type statement struct {
	text string
	stmt driver.Stmt
}

// take returns a statement that nobody else runs.
func (c *conn) take(ctx context.Context, text string) (statement, error) {
	for i, s := range slices.Backward(c.idle) {
		if s.text == text {
			c.idle = slices.Delete(c.idle, i, i+1)
			return s, nil
		}
	}
	s, err := c.PrepareContext(ctx, text)
	return statement{text, s}, err
}

// giveBack keeps a statement that has run.
func (c *conn) giveBack(s statement) (err error) {
	if len(c.idle) == maxIdle {
		err = c.idle[0].stmt.Close()
		c.idle = slices.Delete(c.idle, 0, 1)
	}
	c.idle = append(c.idle, s)
	return err
}

// ExecContext is that of driver.ExecerContext. A text without arguments may be several statements: it is not kept.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		return c.sqlite.ExecContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := s.stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		_ = s.stmt.Close() // reports err once more
		return nil, err
	}
	return result, c.giveBack(s)
}

// QueryContext is that of driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	r, err := s.stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		_ = s.stmt.Close() // reports err once more
		return nil, err
	}
	return &rows{Rows: r, c: c, of: s, flags: flagsOf(r)}, nil
}

// flagsOf returns which columns are declared BOOLEAN.
func flagsOf(r driver.Rows) (flags []int) {
	typed, ok := r.(driver.RowsColumnTypeDatabaseTypeName)
	if !ok {
		return nil
	}
	for i := range r.Columns() {
		if typed.ColumnTypeDatabaseTypeName(i) == "BOOLEAN" {
			flags = append(flags, i)
		}
	}
	return flags
}

// Close is that of driver.Conn.
func (c *conn) Close() error {
	for _, s := range c.idle {
		_ = s.stmt.Close() // reports the error of its last run once more
	}
	c.idle = nil
	return c.sqlite.Close()
}

// rows give their statement back when they are closed. Every number but 0 in a BOOLEAN column is true,
// as it is to SQLite: database/sql refuses others than 0 and 1, so one damaged row would hide its
// neighbors.
type rows struct {
	driver.Rows
	c     *conn
	of    statement
	flags []int // columns that are declared BOOLEAN
}

// Next is that of driver.Rows.
func (r *rows) Next(row []driver.Value) error {
	if err := r.Rows.Next(row); err != nil {
		return err
	}
	for _, i := range r.flags {
		if n, ok := row[i].(int64); ok {
			row[i] = n != 0
		}
	}
	return nil
}

// Close is that of driver.Rows.
func (r *rows) Close() error {
	if r.of.stmt == nil {
		return nil
	}
	s := r.of
	r.of = statement{}
	if err := r.Rows.Close(); err != nil {
		_ = s.stmt.Close() // reports err once more
		return err
	}
	return r.c.giveBack(s)
}
