package auth

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// A local account may have passkeys (Web Authentication Level 3, W3C). A passkey proves that its
// device is there and that the device has verified its user, so it is a whole login; it is also
// taken wherever a code of the second factor is. Its signature covers the origin of the page, so a
// copy of the page elsewhere gets nothing. A challenge carries its own end and a MAC, so that every
// node can check it, and is used up by the first answer. A counter that does not grow means that
// there may be a copy of the key, and is refused.

// The actions on passkeys in the audit trail.
const (
	ActionPasskey       = "passkey added"
	ActionPasskeyRename = "passkey renamed"
	ActionPasskeyRemove = "passkey removed"
	ActionCodes         = "recovery codes renewed"
)

const (
	maxPasskeys    = 20
	maxPasskeyName = 60 // characters
	// challengeLife is how long a browser may take to answer a challenge.
	challengeLife = 5 * time.Minute
)

// The purposes of challenges.
const (
	toRegister = "register"
	toLogIn    = "log in"
)

// Passkey is a passkey of a user.
type Passkey struct {
	ID         []byte // the credential id
	Key        []byte // the public key (COSE)
	Name       string
	Added      hazard.Instant
	Used       hazard.Instant `json:",omitzero"` // 0: never
	Count      uint32         `json:",omitzero"` // the signature counter at the last use; 0 if the device has none
	Synced     bool           `json:",omitzero"` // it may be copied to other devices of the user (backup eligible)
	Transports []string       `json:",omitzero"` // how browsers reach it: usb, internal …
}

// Ref returns the name of the passkey in addresses.
func (p *Passkey) Ref() string {
	sum := sha256.Sum256(p.ID)
	return hex.EncodeToString(sum[:16])
}

// relyingParty returns the server as the other side of passkeys, or why it cannot be one.
func relyingParty(address string) (rp *webauthn.WebAuthn, why string) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, "this server has no public address; the operator sets public-url"
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return nil, fmt.Sprintf("passkeys belong to the name of a host, and the address %s has none; the operator sets public-url", address)
	}
	if u.Scheme != "https" && host != "localhost" {
		return nil, fmt.Sprintf("browsers have passkeys on https pages only, and the address of this server is %s", address)
	}
	rp, err = webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: "hazardd (" + host + ")", RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired},
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore, // password managers add some
	})
	if err != nil {
		return nil, fmt.Sprintf("the address %s cannot have passkeys: %v", address, err)
	}
	return rp, ""
}

// PasskeysOff returns why there are no passkeys on this server, or "".
func (a Factors) PasskeysOff() string {
	if _, err := a.s.factorSeed(); err != nil {
		return err.Error()
	}
	return a.s.rpOff
}

func (s *Service) passkeys() (*webauthn.WebAuthn, error) {
	if why := s.Factors().PasskeysOff(); why != "" {
		return nil, fmt.Errorf("%w: %s", hazard.ErrConflict, why)
	}
	return s.rp, nil
}

// challengeKey returns the key of challenges and user handles.
func (s *Service) challengeKey() ([]byte, error) {
	seed, err := s.factorSeed()
	if err != nil {
		return nil, err
	}
	return hkdf.Key(sha256.New, seed, nil, "hazardd passkey challenges", 32)
}

func sum(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		binary.Write(mac, binary.BigEndian, int64(len(p)))
		mac.Write([]byte(p))
	}
	return mac.Sum(nil)
}

// challenge makes a challenge: an id of 16 bytes, its end in 8, and a MAC. Logins are for any user.
func (s *Service) challenge(purpose, user string, now hazard.Instant) ([]byte, error) {
	key, err := s.challengeKey()
	if err != nil {
		return nil, err
	}
	c := make([]byte, 16, 56)
	rand.Read(c)
	c = binary.BigEndian.AppendUint64(c, uint64(now.Add(challengeLife)))
	return append(c, sum(key, purpose, user, string(c))...), nil
}

// answered uses a challenge up, as it came back in an answer.
func (s *Service) answered(ctx context.Context, text, purpose, user string, now hazard.Instant) error {
	key, err := s.challengeKey()
	if err != nil {
		return err
	}
	c, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(c) != 56 || subtle.ConstantTimeCompare(c[24:], sum(key, purpose, user, string(c[:24]))) != 1 {
		return badPasskey("the challenge is not one of this server for this")
	}
	end := hazard.Instant(binary.BigEndian.Uint64(c[16:]))
	if now >= end {
		return badPasskey("the challenge has expired; begin again")
	}
	err = s.Once(ctx, uuid.UUID(c[:16]), end.Add(clockSkew))
	if errors.Is(err, hazard.ErrConflict) {
		return badPasskey("the challenge was used before")
	}
	return err
}

// owner is a user for the library.
type owner struct {
	handle   []byte
	name     string
	passkeys []Passkey
}

func (s *Service) owner(u *User) (owner, error) {
	key, err := s.challengeKey()
	if err != nil {
		return owner{}, err
	}
	return owner{sum(key, "user handle", u.Name), u.Name, u.Passkeys()}, nil
}

// WebAuthnID implements webauthn.User.
func (o owner) WebAuthnID() []byte { return o.handle }

// WebAuthnName implements webauthn.User.
func (o owner) WebAuthnName() string { return o.name }

// WebAuthnDisplayName implements webauthn.User.
func (o owner) WebAuthnDisplayName() string { return o.name }

// WebAuthnCredentials implements webauthn.User.
func (o owner) WebAuthnCredentials() (list []webauthn.Credential) {
	for _, p := range o.passkeys {
		c := webauthn.Credential{ID: p.ID, PublicKey: p.Key, Flags: webauthn.CredentialFlags{UserPresent: true, UserVerified: true, BackupEligible: p.Synced},
			Authenticator: webauthn.Authenticator{SignCount: p.Count}}
		for _, t := range p.Transports {
			c.Transport = append(c.Transport, protocol.AuthenticatorTransport(t))
		}
		list = append(list, c)
	}
	return list
}

// BeginPasskey returns the options for navigator.credentials.create, as JSON, for a user who knows
// the password. Errors are those of Authorize; hazard.ErrConflict says why there can be none.
func (a Factors) BeginPasskey(ctx context.Context, by Actor, p Password, from Origin, now hazard.Instant) ([]byte, error) {
	rp, err := a.s.passkeys()
	if err != nil {
		return nil, err
	}
	_, u, _, err := a.s.admit(ctx, by.Name, p, from, now)
	if err != nil {
		return nil, err
	}
	if len(u.Passkeys()) >= maxPasskeys {
		return nil, fmt.Errorf("%w: there are %d passkeys already; remove one first", hazard.ErrConflict, maxPasskeys)
	}
	o, err := a.s.owner(u)
	if err != nil {
		return nil, err
	}
	var known []protocol.CredentialDescriptor
	for _, c := range o.WebAuthnCredentials() {
		known = append(known, c.Descriptor())
	}
	options, _, err := rp.BeginRegistration(o, webauthn.WithExclusions(known))
	if err != nil {
		return nil, fmt.Errorf("begin a passkey: %w", err)
	}
	if options.Response.Challenge, err = a.s.challenge(toRegister, u.Name, now); err != nil {
		return nil, err
	}
	return json.Marshal(options.Response)
}

// AddPasskey adds the passkey that the browser made for the options of BeginPasskey. It returns its
// name in addresses, and recovery codes if the user had none. *hazard.InvalidError says what is
// wrong with the answer.
func (a Factors) AddPasskey(ctx context.Context, by Actor, answer []byte, name string, now hazard.Instant) (ref string, codes []string, err error) {
	rp, err := a.s.passkeys()
	if err != nil {
		return "", nil, err
	}
	var bad hazard.InvalidError
	checkPasskeyName(&bad, name)
	if bad.Err() != nil {
		return "", nil, bad.Err()
	}
	u := a.s.current.Load().user(by.Name)
	if u == nil || u.Subject != "" {
		return "", nil, fmt.Errorf("%w: only local accounts have passkeys here", hazard.ErrConflict)
	}
	made, err := a.s.registered(ctx, rp, u, answer, now)
	if err != nil {
		bad.Add("credential", "is not accepted: %s", reason(err))
		return "", nil, bad.Err()
	}
	if a.s.current.Load().passkeyOwner(made.ID) != nil {
		return "", nil, fmt.Errorf("%w: this passkey is registered already", hazard.ErrConflict)
	}
	made.Name, made.Added = name, now
	err = a.s.changeFactor(ctx, by, ActionPasskey, name, now, func(f *Factor) error {
		if len(f.Passkeys) >= maxPasskeys || slices.ContainsFunc(f.Passkeys, func(p Passkey) bool { return bytes.Equal(p.ID, made.ID) }) {
			return fmt.Errorf("%w: this passkey is registered already, or there are %d", hazard.ErrConflict, maxPasskeys)
		}
		f.Passkeys = append(slices.Clone(f.Passkeys), made)
		if codes = nil; len(f.Codes) == 0 {
			codes, f.Codes = newCodes(by.Name)
		}
		return nil
	})
	return made.Ref(), codes, err
}

func (s *Service) registered(ctx context.Context, rp *webauthn.WebAuthn, u *User, answer []byte, now hazard.Instant) (Passkey, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return Passkey{}, err
	}
	o, err := s.owner(u)
	if err != nil {
		return Passkey{}, err
	}
	_, session, err := rp.BeginRegistration(o) // as BeginPasskey had it
	if err != nil {
		return Passkey{}, err
	}
	session.Challenge = parsed.Response.CollectedClientData.Challenge
	c, err := rp.CreateCredential(o, *session, parsed)
	if err != nil {
		return Passkey{}, err
	}
	if err := s.answered(ctx, session.Challenge, toRegister, u.Name, now); err != nil {
		return Passkey{}, err
	}
	made := Passkey{ID: c.ID, Key: c.PublicKey, Count: c.Authenticator.SignCount, Synced: c.Flags.BackupEligible}
	for _, t := range c.Transport[:min(len(c.Transport), 8)] {
		made.Transports = append(made.Transports, string(t))
	}
	return made, nil
}

// reason returns what the library, or this package, says of an answer.
func reason(err error) string {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return strings.TrimSpace(e.Details + ". " + e.DevInfo)
	}
	return err.Error()
}

func checkPasskeyName(bad *hazard.InvalidError, name string) {
	if n := len([]rune(name)); n < 1 || n > maxPasskeyName || hazard.CleanLine(name) != name {
		bad.Add("name", "must be one line of 1 to %d characters without spaces at either end", maxPasskeyName)
	}
}

// RenamePasskey names one of the actor's passkeys anew.
func (a Factors) RenamePasskey(ctx context.Context, by Actor, ref, name string, now hazard.Instant) error {
	var bad hazard.InvalidError
	if checkPasskeyName(&bad, name); bad.Err() != nil {
		return bad.Err()
	}
	return a.s.changeFactor(ctx, by, ActionPasskeyRename, name, now, func(f *Factor) error {
		i := f.passkey(ref)
		if i < 0 {
			return fmt.Errorf("%w: passkey %s", hazard.ErrNotFound, ref)
		}
		f.Passkeys = slices.Clone(f.Passkeys)
		f.Passkeys[i].Name = name
		return nil
	})
}

// DropPasskey removes one of the actor's passkeys, for who knows the password and has a second
// factor. Errors are those of Authorize; hazard.ErrForbidden means that the role needs the last one.
func (a Factors) DropPasskey(ctx context.Context, by Actor, ref string, p Password, from Origin, now hazard.Instant) error {
	picture, u, _, err := a.s.admit(ctx, by.Name, p, from, now)
	if err != nil {
		return err
	}
	required := slices.Contains(picture.factorRoles, u.Role)
	return a.s.changeFactor(ctx, by, ActionPasskeyRemove, ref, now, func(f *Factor) error {
		i := f.passkey(ref)
		if i < 0 {
			return fmt.Errorf("%w: passkey %s", hazard.ErrNotFound, ref)
		}
		f.Passkeys = slices.Delete(slices.Clone(f.Passkeys), i, i+1)
		if required && !f.counts() {
			return fmt.Errorf("%w: your role needs a second factor on this server, and this is your last", hazard.ErrForbidden)
		}
		return nil
	})
}

// NewCodes replaces the actor's recovery codes. Errors are those of Authorize.
func (a Factors) NewCodes(ctx context.Context, by Actor, p Password, from Origin, now hazard.Instant) (codes []string, err error) {
	if _, _, _, err := a.s.admit(ctx, by.Name, p, from, now); err != nil {
		return nil, err
	}
	err = a.s.changeFactor(ctx, by, ActionCodes, "", now, func(f *Factor) error {
		if !f.counts() {
			return fmt.Errorf("%w: there is no second factor whose codes these would be", hazard.ErrConflict)
		}
		codes, f.Codes = newCodes(by.Name)
		return nil
	})
	return codes, err
}

// changeFactor changes the second factor of the actor's account.
func (s *Service) changeFactor(ctx context.Context, by Actor, action, detail string, now hazard.Instant, change func(*Factor) error) error {
	err := s.store.UpdateUser(ctx, by.Name, func(u *User) error {
		if u.Removed != 0 || u.Subject != "" {
			return hazard.ErrNotFound
		}
		f := Factor{}
		if u.Factor != nil {
			f = *u.Factor
		}
		if err := change(&f); err != nil {
			return err
		}
		u.setFactor(f)
		return nil
	}, by.did(action, by.Name, detail, now))
	if err != nil {
		return fmt.Errorf("second factor of %q: %w", by.Name, err)
	}
	s.reloadAfter(ctx)
	return nil
}

// passkeyOwner returns the user who has a passkey and has access, or nil.
func (p *picture) passkeyOwner(id []byte) *User {
	for name, u := range p.users {
		if slices.ContainsFunc(u.Passkeys(), func(k Passkey) bool { return bytes.Equal(k.ID, id) }) {
			return p.user(name)
		}
	}
	return nil
}

// PasskeyOptions returns the options for navigator.credentials.get, as JSON. They name no user.
func (a Factors) PasskeyOptions(now hazard.Instant) ([]byte, error) {
	rp, err := a.s.passkeys()
	if err != nil {
		return nil, err
	}
	options, _, err := rp.BeginDiscoverableLogin()
	if err != nil {
		return nil, fmt.Errorf("begin a login by passkey: %w", err)
	}
	if options.Response.Challenge, err = a.s.challenge(toLogIn, "", now); err != nil {
		return nil, err
	}
	return json.Marshal(options.Response)
}

// AuthorizePasskey returns a pair of tokens for the answer of navigator.credentials.get. ErrDenied
// means that it was not accepted; the audit trail says why.
func (a Factors) AuthorizePasskey(ctx context.Context, answer string, from Origin, now hazard.Instant) (Pair, error) {
	if _, err := a.s.passkeys(); err != nil {
		return Pair{}, err
	}
	pair, err := a.s.logInByPasskey(ctx, answer, from, now)
	if errors.Is(err, ErrFactor) {
		err = ErrDenied
	}
	a.s.logins.WithLabelValues(result(err)).Inc()
	return pair, err
}

func (s *Service) logInByPasskey(ctx context.Context, answer string, from Origin, now hazard.Instant) (Pair, error) {
	a := s.attempt("", from, now)
	if _, err := s.mayTry(ctx, a); err != nil {
		return Pair{}, err
	}
	p := s.latest(ctx, a)
	var u *User
	if parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer)); err == nil {
		u = p.passkeyOwner(parsed.RawID)
	}
	if u == nil {
		a.detail = "passkey: nobody who may log in has it"
		s.failed(ctx, a, "")
		return Pair{}, ErrDenied
	}
	a = s.attempt(u.Name, from, now)
	known, err := s.mayTry(ctx, a)
	if err != nil {
		return Pair{}, err
	}
	if err := s.usePasskey(ctx, a, u, answer, Audit{At: now, Actor: u.Name, Addr: from.Addr, Client: from.Client, Action: ActionFactorUsed, Subject: u.Name, OK: true}); err != nil {
		return Pair{}, err
	}
	s.succeeded(ctx, a, known[byPair])
	pair, session, err := s.issue(p, u, now)
	if err != nil {
		return Pair{}, err
	}
	s.keepSession(ctx, session, u, from, expiry(now, s.cfg.RefreshLife), a.alone, now)
	pair.Device, err = s.deviceToken(p, u, from, now)
	return pair, err
}

// isPasskeyAnswer reports whether a code is the answer of a passkey.
func isPasskeyAnswer(code string) bool { return strings.HasPrefix(strings.TrimSpace(code), "{") }

// badPasskey is what is wrong with the answer of a passkey.
type badPasskey string

func (b badPasskey) Error() string { return string(b) }

// usePasskey accepts the answer of one of the user's passkeys once. Unlike codes, answers cannot be
// guessed; failures count for the network only.
func (s *Service) usePasskey(ctx context.Context, a *attempt, u *User, answer string, row Audit) error {
	used, err := s.provedPasskey(ctx, u, answer, a.at)
	if err == nil {
		row.Detail = "the passkey " + used.Name
		err = s.store.UpdateUser(ctx, u.Name, func(u *User) error { // which decides, also between two logins at once
			i := slices.IndexFunc(u.Passkeys(), func(p Passkey) bool { return bytes.Equal(p.ID, used.ID) })
			if i < 0 || copied(u.Factor.Passkeys[i].Count, used.Count) {
				return badPasskey("the passkey was removed or used meanwhile")
			}
			f := *u.Factor
			f.Passkeys = slices.Clone(f.Passkeys)
			f.Passkeys[i].Count, f.Passkeys[i].Used = used.Count, a.at
			u.Factor = &f
			return nil
		}, row)
	}
	if why, bad := errors.AsType[badPasskey](err); bad {
		a.detail = "passkey: " + string(why)
		s.failed(ctx, a, u.Name)
		return factorError(u)
	}
	if err != nil {
		return fmt.Errorf("passkey of %q: %w", u.Name, err)
	}
	s.reloadAfter(ctx)
	return nil
}

// copied reports whether a counter did not grow, of a device that counts (Web Authentication,
// section 7.2, step 22).
func copied(before, now uint32) bool { return now <= before && (now != 0 || before != 0) }

// provedPasskey returns the passkey of the user that gave the answer, with its new counter. A
// badPasskey says what is wrong.
func (s *Service) provedPasskey(ctx context.Context, u *User, answer string, now hazard.Instant) (p Passkey, err error) {
	rp, err := s.passkeys()
	if err != nil {
		return p, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
	if err != nil {
		return p, badPasskey(reason(err))
	}
	o, err := s.owner(u)
	if err != nil {
		return p, err
	}
	challenge := parsed.Response.CollectedClientData.Challenge
	if _, err := rp.ValidateLogin(o, webauthn.SessionData{Challenge: challenge, RelyingPartyID: rp.Config.RPID, UserID: o.handle, UserVerification: protocol.VerificationRequired}, parsed); err != nil {
		return p, badPasskey(reason(err))
	}
	p = o.passkeys[slices.IndexFunc(o.passkeys, func(p Passkey) bool { return bytes.Equal(p.ID, parsed.RawID) })]
	count := parsed.Response.AuthenticatorData.Counter
	if copied(p.Count, count) {
		return p, badPasskey(fmt.Sprintf("its counter went from %d to %d, so there may be a copy of it", p.Count, count))
	}
	p.Count = count
	return p, s.answered(ctx, challenge, toLogIn, "", now)
}
