package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/emersion/go-smtp"
	"github.com/rogpeppe/go-internal/testscript"
)

// mailbox receives mails and saves each to a file in a folder. It rejects all recipients at
// gone.example.
type mailbox struct {
	folder string
	mails  atomic.Int64
}

// mailServer starts a mail server that saves mails in a folder; $SMTP is its address.
func mailServer(ts *testscript.TestScript, _ bool, args []string) {
	box := &mailbox{folder: ts.MkAbs(args[0])}
	ts.Check(os.MkdirAll(box.folder, 0o700))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return box, nil }))
	server.Domain = "localhost"
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	ts.Defer(func() {
		ts.Check(server.Close())
		if err := <-ended; !errors.Is(err, smtp.ErrServerClosed) {
			ts.Logf("mail server: %v", err)
		}
	})
	ts.Setenv("SMTP", "smtp://"+listener.Addr().String())
}

func (*mailbox) Mail(string, *smtp.MailOptions) error { return nil }
func (*mailbox) Reset()                               {}
func (*mailbox) Logout() error                        { return nil }

func (*mailbox) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasSuffix(to, "@gone.example") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	}
	return nil
}

func (b *mailbox) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.folder, fmt.Sprintf("%d.eml", b.mails.Add(1))), text, 0o600)
}
