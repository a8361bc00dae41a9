package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/hazardd/hazardd/client"
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve/mcp"
	"github.com/hazardd/hazardd/internal/store"
)

type mcpCmd struct {
	Server publicURL `default:"http://127.0.0.1:8080" placeholder:"URL" help:"Server to use."`
	User   string    `placeholder:"NAME" help:"User whose rights apply. HAZARDD_MCP_PASSWORD holds the password, or HAZARDD_MCP_PASSWORD_FILE names a file with it. Instead of user and password, HAZARDD_MCP_TOKEN or HAZARDD_MCP_TOKEN_FILE can provide the output of hazardd token."`
	Local  bool      `help:"Read the store directly (--data, --database) with the rights of --user, with or without a running server; no password is needed."`
	sourcesFlag
}

// Run serves the tools on standard input and output until the assistant closes them.
func (m *mcpCmd) Run(ctx context.Context, c *console, g *globals) error {
	if m.Local {
		return m.local(ctx, c, g)
	}
	o, err := m.credentials()
	if err != nil {
		return err
	}
	server, err := client.New(string(m.Server), o)
	if err != nil {
		return err
	}
	return serveTools(ctx, c, server)
}

// credentials returns the login for the server.
func (m *mcpCmd) credentials() (o client.Options, err error) {
	o.UserAgent = "hazardd-mcp"
	token, err := secretVariable(variablePrefix + "MCP_TOKEN")
	if err != nil {
		return o, err
	}
	password, err := secretVariable(variablePrefix + "MCP_PASSWORD")
	if err != nil {
		return o, err
	}
	switch {
	case token != "" && m.User != "":
		return o, errors.New("--user and HAZARDD_MCP_TOKEN exclude each other")
	case token != "":
		o.Token, o.RefreshToken, err = readToken(token)
		return o, err
	case m.User == "":
		return o, errors.New("a login is missing: give --user NAME with HAZARDD_MCP_PASSWORD, or HAZARDD_MCP_TOKEN")
	case password == "":
		return o, errors.New("the password is missing: set HAZARDD_MCP_PASSWORD, or HAZARDD_MCP_PASSWORD_FILE to the file that holds it")
	}
	o.Username, o.Password = m.User, password
	return o, nil
}

// local serves the tools from the store itself, through a read-only node in this process.
func (m *mcpCmd) local(ctx context.Context, c *console, g *globals) error {
	if m.User == "" {
		return errors.New("--local: --user NAME is missing; it says whose rights apply")
	}
	// Make sure that the store exists, and do not create one, before anything else is opened.
	if err := g.withOldStore(ctx, func(*store.Store) error { return nil }); err != nil {
		return err
	}
	place, err := g.files()
	if err != nil {
		return err
	}
	cfg := app.Config{Reading: true, Version: about().Version, Logger: c.logger(), Settings: app.Settings{DataDir: g.Data, Database: g.Database, Files: place, Listen: "127.0.0.1:0", Grace: time.Second}}
	if err := m.sourcesFlag.set(&cfg); err != nil {
		return err
	}
	node, err := app.Open(ctx, cfg)
	if err != nil {
		return err
	}
	pair, err := node.Auth.Issue(ctx, consoleActor(), m.User, node.Now())
	if err != nil {
		return errors.Join(knownUsers(err), node.Close())
	}
	server, err := client.New(node.URL(), client.Options{Token: pair.Access, RefreshToken: pair.Refresh, UserAgent: "hazardd-mcp"})
	if err != nil {
		return errors.Join(err, node.Close())
	}
	parts, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	parts.Go(func() error { return node.Run(running) })
	parts.Go(func() error {
		defer stop()
		err := serveTools(ctx, c, server)
		// Log out when the process ends: nobody else has the session's tokens.
		_ = server.Logout(context.WithoutCancel(ctx)) // the session also expires by itself
		return err
	})
	return parts.Wait()
}

// serveTools serves the tools on standard input and output.
func serveTools(ctx context.Context, c *console, server *client.Client) error {
	err := mcp.NewServer(askServer(server), about().Version).Run(ctx, mcp.Drained(&sdk.IOTransport{Reader: c.in, Writer: stays{c.out}, MaxLineLength: mcp.MaxMessage}))
	if interrupted(ctx) || errors.Is(err, io.EOF) {
		return nil // the usual end
	}
	return err
}

// stays is a writer without Close, because others also write to it.
type stays struct{ io.Writer }

func (stays) Close() error { return nil }

// mostAsked bounds the answer that a tool reads before it shortens it, in bytes.
const mostAsked = 8 << 20

// askServer returns the function by which the tools send requests.
func askServer(server *client.Client) mcp.Ask {
	return func(ctx context.Context, path string, query url.Values) (*mcp.Answer, error) {
		resp, err := server.Get(ctx, path, query)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, mostAsked+1))
		if err != nil {
			return nil, err
		}
		if len(body) > mostAsked {
			return nil, fmt.Errorf("the answer is larger than %d bytes; narrow the search", mostAsked)
		}
		return &mcp.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, nil
	}
}
