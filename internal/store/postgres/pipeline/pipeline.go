// Package pipeline reduces the round trips of write transactions on PostgreSQL.
//
// All nodes wait for the one that writes, and so for its round trips. A write transaction keeps
// statements that need no answer (BEGIN, the lock, all without a result), and sends them with the
// next query or with COMMIT, by the pipeline mode of PostgreSQL's extended query protocol.
//
// It works below database/sql, so the code that writes does not know of it. An error may arrive
// with a later statement; it names its own.
package pipeline

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// What is kept at most: an import must not pile up in memory, nor the transaction stand still.
const (
	queueLength = 100
	queueBytes  = 1 << 20 // of arguments; the last one may be larger
)

// Connector makes connections whose transactions are pipelines, of another connector of pgx.
type Connector struct {
	driver.Connector
	// Idle is how long a transaction may stand still: nothing is kept for a tenth of it, and a rollback takes no longer.
	Idle time.Duration
}

// Connect is that of driver.Connector.
func (p Connector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pipelined{Conn: c.(*stdlib.Conn), idle: p.Idle}, nil
}

// pipelined is a connection. database/sql sees to it that one caller at a time uses it, its transaction, and their results.
type pipelined struct {
	*stdlib.Conn
	idle time.Duration
	tx   *pipeline // nil: none is under way
}

// BeginTx begins a transaction at its first statement that needs an answer. Those with options are not pipelined.
func (c *pipelined) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if opts != (driver.TxOptions{}) {
		return c.Conn.BeginTx(ctx, opts)
	}
	if c.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	c.tx = &pipeline{c: c, ctx: ctx}
	c.tx.add(ctx, "begin", nil)
	return c.tx, nil
}

// ExecContext keeps a statement that has arguments. One without may be several, which the extended protocol does not take.
func (c *pipelined) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	switch {
	case c.tx == nil:
		return c.Conn.ExecContext(ctx, query, args)
	case len(args) == 0:
		if err := c.tx.send(ctx); err != nil {
			return nil, err
		}
		result, err := c.Conn.ExecContext(ctx, query, args)
		return result, c.tx.fail(query, err)
	}
	s := c.tx.add(ctx, query, args)
	if c.tx.full() {
		return s, c.tx.send(ctx)
	}
	return s, nil
}

// QueryContext keeps a question until somebody looks at its answer, which then is read whole: so statements may follow meanwhile.
func (c *pipelined) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.tx == nil {
		return c.Conn.QueryContext(ctx, query, args)
	}
	s := c.tx.add(ctx, query, args)
	s.asked = true
	return s, nil
}

// PrepareContext refuses: the driver prepares each statement itself, and one that database/sql holds would go past the pipeline.
func (c *pipelined) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, errors.New("statements are prepared by the driver")
}

// pipeline is a transaction.
type pipeline struct {
	c      *pipelined
	ctx    context.Context // of the whole transaction
	queue  []*statement
	size   int // bytes of arguments
	since  time.Time
	begun  bool  // the database knows of it
	failed error // why it can only be rolled back
}

func (p *pipeline) add(ctx context.Context, query string, args []driver.NamedValue) *statement {
	s := &statement{tx: p, ctx: ctx, query: query}
	for _, a := range args {
		switch v := a.Value.(type) {
		case []byte:
			p.size += len(v)
			a.Value = slices.Clone(v) // whoever gave it may use it again
		case string:
			p.size += len(v)
		}
		s.args = append(s.args, a.Value)
	}
	if len(p.queue) == 0 {
		p.since = time.Now()
	}
	p.queue = append(p.queue, s)
	return s
}

func (p *pipeline) full() bool {
	return len(p.queue) >= queueLength || p.size >= queueBytes || p.begun && time.Since(p.since) >= p.c.idle/10
}

// fail notes that the statement has failed, and with it the transaction, unless err is nil.
func (p *pipeline) fail(query string, err error) error {
	if err != nil && p.failed == nil {
		if bad, ok := errors.AsType[pgx.ErrPreprocessingBatch](err); ok { // it is not the first of the batch
			query = bad.SQL()
		}
		p.failed = fmt.Errorf("%s: %w", statementName(query), err)
	}
	return p.failed
}

// statementName is the name that queries/ give a statement, or how it begins.
func statementName(query string) string {
	if named, ok := strings.CutPrefix(query, "-- name: "); ok {
		name, _, _ := strings.Cut(named, " ")
		return name
	}
	words := strings.Fields(query)
	return strings.Join(words[:min(len(words), 4)], " ")
}

// send sends what is kept and reads all answers. If one is an error the transaction has failed, and nothing after it was done.
func (p *pipeline) send(ctx context.Context) error {
	queue := p.queue
	p.queue, p.size = nil, 0
	if p.failed != nil || len(queue) == 0 {
		return p.failed
	}
	p.begun = true
	batch := &pgx.Batch{}
	for _, s := range queue {
		batch.Queue(s.query, s.args...)
		s.args = nil // the batch has them
	}
	results := p.c.Conn.Conn().SendBatch(ctx, batch)
	for _, s := range queue {
		if err := s.read(results); err != nil {
			_ = p.fail(s.query, err)
			break
		}
	}
	return p.fail(queue[len(queue)-1].query, results.Close())
}

// Commit commits, with all that is kept before. If that fails and the connection stands, nothing was changed.
func (p *pipeline) Commit() error {
	p.c.tx = nil
	last := p.add(p.ctx, "commit", nil)
	err := p.send(p.ctx)
	if err == nil && last.tag.String() == "ROLLBACK" {
		err = p.fail(last.query, pgx.ErrTxCommitRollback)
	}
	if err != nil {
		return errors.Join(err, p.end())
	}
	return nil
}

// Rollback forgets what is kept, and undoes the rest. When the database did not hear of the transaction it need not hear of its end.
func (p *pipeline) Rollback() error {
	p.c.tx = nil
	p.queue = nil
	if p.failed == nil {
		p.failed = sql.ErrTxDone
	}
	return p.end()
}

// end rolls back a failed transaction, because others wait for its lock. If that fails, it closes
// the connection, which also rolls back.
func (p *pipeline) end() error {
	conn := p.c.Conn.Conn()
	if !p.begun || conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), p.c.idle)
	defer cancel()
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		return errors.Join(fmt.Errorf("rollback: %w", err), conn.Close(ctx))
	}
	return nil
}

// statement is one of a pipeline, and its answer, for which all that is kept is sent: its result, or its rows.
type statement struct {
	tx      *pipeline
	ctx     context.Context
	query   string
	args    []any
	asked   bool // for rows
	tag     pgconn.CommandTag
	columns []string
	rows    [][]driver.Value
}

// RowsAffected is that of driver.Result.
func (s *statement) RowsAffected() (int64, error) {
	err := s.tx.send(s.ctx)
	return s.tag.RowsAffected(), err
}

// LastInsertId is that of driver.Result.
func (s *statement) LastInsertId() (int64, error) {
	return 0, errors.New("PostgreSQL does not tell it")
}

// Columns is that of driver.Rows. An error is left to Next.
func (s *statement) Columns() []string {
	_ = s.tx.send(s.ctx)
	return s.columns
}

// Next is that of driver.Rows.
func (s *statement) Next(dest []driver.Value) error {
	if err := s.tx.send(s.ctx); err != nil {
		return err
	}
	if len(s.rows) == 0 {
		return io.EOF
	}
	copy(dest, s.rows[0])
	s.rows = s.rows[1:]
	return nil
}

// Close is that of driver.Rows.
func (s *statement) Close() error { return nil }

// read reads the answer.
func (s *statement) read(results pgx.BatchResults) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	if s.asked {
		for _, f := range rows.FieldDescriptions() {
			s.columns = append(s.columns, f.Name)
		}
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				return err
			}
			row := make([]driver.Value, len(values))
			for i, v := range values {
				if row[i], err = driver.DefaultParameterConverter.ConvertValue(v); err != nil { // int32 to int64
					return fmt.Errorf("column %s: %w", s.columns[i], err)
				}
			}
			s.rows = append(s.rows, row)
		}
	}
	rows.Close()
	s.tag = rows.CommandTag()
	return rows.Err()
}
