package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/oidc"
)

// oidcFlags configure the OpenID provider for logins.
type oidcFlags struct {
	Issuer      oidcIssuer  `name:"oidc-issuer" placeholder:"URL" help:"OpenID provider for logins: the address that its tokens have as iss."`
	ClientID    string      `name:"oidc-client-id" placeholder:"ID" help:"Client id of this server at the OpenID provider."`
	SecretFile  string      `name:"oidc-secret-file" type:"path" placeholder:"FILE" help:"File with the client secret of this server at the OpenID provider. Without it the client is public."`
	Groups      []oidcGroup `name:"oidc-groups" placeholder:"GROUP=ROLE[:ORG+ORG]" help:"Roles of the provider's groups: reader, editor or admin, and in which organizations, by acronym or id. The group * is everybody."`
	GroupsClaim string      `name:"oidc-groups-claim" default:"groups" placeholder:"NAME" help:"Claim that holds the groups; a dot selects a member of an object."`
	NameClaim   string      `name:"oidc-name-claim" default:"preferred_username" placeholder:"NAME" help:"Claim that suggests a name for a new user."`
	Audience    []string    `name:"oidc-audience" placeholder:"NAME" help:"Audiences of the provider's access tokens that the API accepts. Default: the client id."`
	Scopes      []string    `name:"oidc-scopes" default:"profile" placeholder:"SCOPE" help:"Scopes to request besides openid."`
	Title       string      `name:"oidc-title" placeholder:"TEXT" help:"Name of the provider on the login page. Default: its host."`
	Life        life        `name:"oidc-life" default:"${oidc_life}" placeholder:"TIME" help:"Longest life of a login at the OpenID provider, however often it is renewed."`
}

type (
	oidcIssuer string
	oidcGroup  oidc.Group
)

func (o *oidcIssuer) UnmarshalText(text []byte) error {
	u, err := httpURL(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q must be without user, query and fragment", u.Redacted())
	}
	*o = oidcIssuer(strings.TrimSpace(string(text)))
	return nil
}

func (o *oidcGroup) UnmarshalText(text []byte) error {
	g, err := oidc.ParseGroup(strings.TrimSpace(string(text)))
	*o = oidcGroup(g)
	return err
}

func (f *oidcFlags) set(cfg *app.Config) error {
	if f.Issuer == "" {
		if f.ClientID != "" || len(f.Groups) > 0 || f.SecretFile != "" {
			return errors.New("--oidc-issuer is missing: the other --oidc settings need it")
		}
		return nil
	}
	p := &oidc.Config{Issuer: string(f.Issuer), ClientID: f.ClientID, Audiences: f.Audience, GroupsClaim: f.GroupsClaim, NameClaim: f.NameClaim, Scopes: f.Scopes}
	for _, g := range f.Groups {
		p.Groups = append(p.Groups, oidc.Group(g))
	}
	if f.SecretFile != "" {
		text, err := os.ReadFile(f.SecretFile)
		if err != nil {
			return fmt.Errorf("--oidc-secret-file: %w", err)
		}
		if p.Secret = auth.Password(strings.TrimSpace(string(text))); p.Secret == "" {
			return fmt.Errorf("--oidc-secret-file: %s is empty", f.SecretFile)
		}
	}
	cfg.Provider, cfg.ProviderTitle, cfg.ProviderLife = p, f.Title, time.Duration(f.Life)
	return nil
}
