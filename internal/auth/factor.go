package auth

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// A local account may have a second factor: one-time codes of an authenticator app (TOTP, RFC 6238:
// SHA-1, 30 s, 6 digits, as all apps know it), passkeys, and recovery codes. The secret is encrypted with a
// key that is not in the database; recovery codes are hashed. No code is accepted twice, and
// guesses are limited per user, wherever they come from.

// ErrFactor means that the password is right, and the code of the second factor is missing or
// wrong. It is also an ErrDenied. FactorKinds says which kinds the user has.
var ErrFactor = fmt.Errorf("%w: the code of the second factor is missing or wrong", ErrDenied)

// kindsError is an ErrFactor of a user with these kinds of second factor.
type kindsError string

func (k kindsError) Error() string { return ErrFactor.Error() }

// Unwrap returns ErrFactor.
func (k kindsError) Unwrap() error { return ErrFactor }

// factorError returns the ErrFactor of a user.
func factorError(u *User) error {
	kinds := "totp"
	switch app := u.Factor != nil && u.Factor.Added != 0; {
	case len(u.Passkeys()) > 0 && app:
		kinds = "totp, passkey"
	case len(u.Passkeys()) > 0:
		kinds = "passkey"
	}
	return kindsError(kinds)
}

// FactorKinds returns the kinds of second factor that would turn an ErrFactor into a login: totp,
// passkey, or both with a comma.
func FactorKinds(err error) string {
	if k, ok := errors.AsType[kindsError](err); ok {
		return string(k)
	}
	return "totp"
}

// ErrNeedsFactor refuses a user whose role needs a second factor, and who has none.
var ErrNeedsFactor = fmt.Errorf("%w: your role needs a second factor on this server, and your account has none: set one up with POST /account/factors, or have an operator do it (hazardd user factor NAME)", hazard.ErrForbidden)

// The actions on second factors in the audit trail.
const (
	ActionFactor       = "second factor added"
	ActionFactorBegun  = "second factor begun" // waits for its first code
	ActionFactorUsed   = "second factor used"
	ActionFactorRemove = "second factor removed"
	ActionFactorRoles  = "second factor required of roles"
)

const (
	otpStep   = 30 // seconds, RFC 6238, section 5.2
	otpDigits = 6
	otpSecret = 20 // bytes, RFC 4226, section 4
	// otpDrift is how many steps a phone's clock may be off in either direction.
	otpDrift = 1
	// recoveryCodes is how many codes there are, of 50 random bits each.
	recoveryCodes = 10
)

// factorLimit limits wrong codes for a user from anywhere: who gets here knows the password.
var factorLimit = limit{free: 5, first: 2 * time.Second, most: 15 * time.Minute}

// Factor is the second factor of a user: an authenticator app, passkeys, or both.
type Factor struct {
	Sealed   string         // the secret of the app, encrypted for the user's name; empty if there is none
	Added    hazard.Instant // when the app was confirmed; 0 while it waits for its first code, and is not asked for
	Last     int64          `json:",omitzero"` // number of the latest step whose code was accepted
	Codes    []string       `json:",omitzero"` // hashes of the unused recovery codes
	Passkeys []Passkey      `json:",omitzero"`
}

// counts reports whether logins need the factor.
func (f *Factor) counts() bool { return f.Added != 0 || len(f.Passkeys) > 0 }

// passkey returns the index of a passkey, or -1.
func (f *Factor) passkey(ref string) int {
	return slices.IndexFunc(f.Passkeys, func(p Passkey) bool { return p.Ref() == ref })
}

// FactorSetup is a new second factor. Its parts are shown once.
type FactorSetup struct {
	Secret   string   // base32, for typing into an app
	URI      string   // otpauth:, for a QR code
	Recovery []string // empty until the factor is confirmed
}

// HasFactor reports whether the password alone does not log the user in.
func (u *User) HasFactor() bool { return u.Factor != nil && u.Factor.counts() }

// HasApp reports whether the user has an authenticator app.
func (u *User) HasApp() bool { return u.Factor != nil && u.Factor.Added != 0 }

// Passkeys returns the user's passkeys, which the caller must not change.
func (u *User) Passkeys() []Passkey {
	if u.Factor == nil {
		return nil
	}
	return u.Factor.Passkeys
}

// setFactor keeps what is left of a factor. Recovery codes of nothing are none.
func (u *User) setFactor(f Factor) {
	if u.Factor = &f; !f.counts() && f.Sealed == "" {
		u.Factor = nil
	}
}

// Factors manages second factors. A change holds at once in the Service that it came from, and on
// other nodes with their next Poll.
type Factors struct{ s *Service }

// Factors returns the second factors of the service.
func (s *Service) Factors() Factors { return Factors{s} }

// AddApp gives a user an authenticator app at once, for an operator on the console. It replaces
// one that the user has, and the recovery codes.
func (a Factors) AddApp(ctx context.Context, by Actor, name string, now hazard.Instant) (FactorSetup, error) {
	setup, f, err := a.s.newFactor(name)
	if err != nil {
		return FactorSetup{}, err
	}
	setup.Recovery, f.Codes = newCodes(name)
	f.Added = now
	return setup, a.s.setFactor(ctx, by, ActionFactor, name, f, now)
}

// BeginApp makes a second factor for a user who knows the password. Logins ask for it after
// ConfirmApp.
func (a Factors) BeginApp(ctx context.Context, by Actor, p Password, from Origin, now hazard.Instant) (FactorSetup, error) {
	_, u, _, err := a.s.admit(ctx, by.Name, p, from, now)
	if err != nil {
		return FactorSetup{}, err
	}
	if u.HasApp() {
		return FactorSetup{}, fmt.Errorf("%w: there is an authenticator app; remove it before adding another", hazard.ErrConflict)
	}
	setup, f, err := a.s.newFactor(by.Name)
	if err != nil {
		return FactorSetup{}, err
	}
	return setup, a.s.setFactor(ctx, by, ActionFactorBegun, by.Name, f, now)
}

// ConfirmApp puts the factor of BeginApp into force by its first code, and returns the
// recovery codes if the user had none.
func (a Factors) ConfirmApp(ctx context.Context, by Actor, code string, from Origin, now hazard.Instant) ([]string, error) {
	u := a.s.current.Load().user(by.Name)
	if u == nil || u.Factor == nil || u.Factor.Sealed == "" || u.HasApp() {
		return nil, fmt.Errorf("%w: no second factor waits for its first code; begin with the password", hazard.ErrConflict)
	}
	var codes []string
	err := a.s.useCode(ctx, a.s.attempt(by.Name, from, now), u, code, by.did(ActionFactor, by.Name, "", now), func(f *Factor) {
		f.Added = now
		if codes = nil; len(f.Codes) == 0 {
			codes, f.Codes = newCodes(by.Name)
		}
	})
	return codes, err
}

// DropApp removes the caller's authenticator app, by a code or the answer of a passkey.
func (a Factors) DropApp(ctx context.Context, by Actor, code string, from Origin, now hazard.Instant) error {
	p := a.s.current.Load()
	u := p.user(by.Name)
	if u == nil || !u.HasApp() {
		return fmt.Errorf("%w: there is no authenticator app", hazard.ErrConflict)
	}
	if slices.Contains(p.factorRoles, u.Role) && len(u.Passkeys()) == 0 {
		return fmt.Errorf("%w: your role needs a second factor on this server", hazard.ErrForbidden)
	}
	if err := a.s.proveBy(ctx, a.s.attempt(by.Name, from, now), u, code, by.did(ActionFactorUsed, by.Name, "to remove the app", now)); err != nil {
		return err
	}
	return a.s.changeFactor(ctx, by, ActionFactorRemove, "TOTP", now, func(f *Factor) error {
		f.Sealed, f.Added, f.Last = "", 0, 0
		return nil
	})
}

// Remove removes the second factor of a user who lost it, with all passkeys. It may return hazard.ErrNotFound.
func (a Factors) Remove(ctx context.Context, by Actor, name string, now hazard.Instant) error {
	return a.s.update(ctx, by, ActionFactorRemove, name, "", now, func(u *User) { u.Factor = nil })
}

// Require sets the roles that need a second factor besides those of the configuration, for an
// admin, who must have one if it is about admins. Errors: *hazard.InvalidError, hazard.ErrConflict.
func (a Factors) Require(ctx context.Context, by Actor, roles []Role, now hazard.Instant) error {
	var bad hazard.InvalidError
	for i, r := range roles {
		if !r.Known() {
			bad.Add(fmt.Sprintf("required/%d", i), "%q is not one of reader, editor, admin", r)
		}
	}
	if err := bad.Err(); err != nil {
		return err
	}
	if len(roles) > 0 {
		if _, err := a.s.factorSeed(); err != nil {
			return err
		}
	}
	if u := a.s.current.Load().user(by.Name); u != nil && u.Subject == "" && !u.HasFactor() && slices.Contains(roles, u.Role) {
		return fmt.Errorf("%w: you would have no access yourself; set up your own second factor first", hazard.ErrConflict)
	}
	roles = slices.Compact(slices.Sorted(slices.Values(roles)))
	if err := a.s.store.SetFactorRoles(ctx, roles, by.did(ActionFactorRoles, "", fmt.Sprint(roles), now)); err != nil {
		return fmt.Errorf("require a second factor: %w", err)
	}
	a.s.reloadAfter(ctx)
	return nil
}

// Needed reports whether the role of a user needs a second factor, which OpenID providers ask
// their users for.
func (a Factors) Needed(u *User) bool {
	return u.Subject == "" && slices.Contains(a.s.current.Load().factorRoles, u.Role)
}

// Roles returns the roles that need a second factor, and those of them that the configuration
// names, which an admin cannot change.
func (a Factors) Roles() (all, configured []Role) {
	return a.s.current.Load().factorRoles, a.s.cfg.FactorRoles
}

func (s *Service) setFactor(ctx context.Context, by Actor, action, name string, f *Factor, now hazard.Instant) error {
	if u := s.current.Load().users[name]; u != nil && u.Subject != "" {
		return fmt.Errorf("%w: user %q logs in at the OpenID provider %s, which asks for a second factor if it should", hazard.ErrConflict, name, u.Issuer)
	}
	return s.update(ctx, by, action, name, "TOTP", now, func(u *User) {
		fresh := *f
		if u.Factor != nil {
			fresh.Passkeys = u.Factor.Passkeys
			if fresh.Codes == nil {
				fresh.Codes = u.Factor.Codes
			}
		}
		u.Factor = &fresh
	})
}

// newFactor makes a secret for a user.
func (s *Service) newFactor(name string) (FactorSetup, *Factor, error) {
	seal, err := s.factorSeal()
	if err != nil {
		return FactorSetup{}, nil, err
	}
	var secret [otpSecret]byte
	rand.Read(secret[:])
	text, host := base32.StdEncoding.EncodeToString(secret[:]), hostOf(s.cfg.BaseURL)
	values := url.Values{"secret": {text}, "issuer": {host}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}
	uri := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + host + ":" + name, RawQuery: strings.ReplaceAll(values.Encode(), "+", "%20")}
	return FactorSetup{Secret: text, URI: uri.String()}, &Factor{Sealed: base64.StdEncoding.EncodeToString(seal.Seal(nil, nil, secret[:], []byte(name)))}, nil
}

// factorSeed returns the secret from which the keys of second factors are derived. It is read once.
func (s *Service) factorSeed() ([]byte, error) {
	if seed := s.seed.Load(); seed != nil {
		return *seed, nil
	}
	if s.cfg.FactorSeed == nil {
		return nil, fmt.Errorf("%w: this server has no key for second factors", hazard.ErrConflict)
	}
	seed, err := s.cfg.FactorSeed()
	if err != nil {
		return nil, fmt.Errorf("%w: the key of second factors: %w", hazard.ErrConflict, err)
	}
	s.seed.Store(&seed)
	return seed, nil
}

// factorSeal returns the encryption of secrets.
func (s *Service) factorSeal() (cipher.AEAD, error) {
	seed, err := s.factorSeed()
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, seed, nil, "hazardd second factors", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// newCodes makes recovery codes of a user, and their hashes.
func newCodes(name string) (codes, hashes []string) {
	for range recoveryCodes {
		c := string(RandomPassword())[:11] // two groups of five
		codes, hashes = append(codes, c), append(hashes, codeHash(name, c))
	}
	return codes, hashes
}

// codeHash returns the hash of a recovery code as typed. A code has so many random bits that a slow
// hash would add nothing.
func codeHash(name, code string) string {
	code = strings.NewReplacer("-", "", " ", "").Replace(strings.ToLower(code))
	sum := sha256.Sum256([]byte(name + "\x00" + code))
	return hex.EncodeToString(sum[:])
}

// otp returns the code of a step (RFC 4226, section 5.3).
func otp(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	binary.Write(mac, binary.BigEndian, step)
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&0xf:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", otpDigits, n%1_000_000)
}

// accepts marks a code as used, and says what it was. It reports false for a wrong or used one.
func (f *Factor) accepts(seal cipher.AEAD, name, code string, now hazard.Instant) (what string, ok bool) {
	code = strings.ReplaceAll(strings.TrimSpace(code), " ", "")
	if len(code) != otpDigits {
		if i := slices.Index(f.Codes, codeHash(name, code)); i >= 0 {
			f.Codes = slices.Delete(slices.Clone(f.Codes), i, i+1)
			return fmt.Sprintf("a recovery code; %d are left", len(f.Codes)), true
		}
		return "", false
	}
	text, err := base64.StdEncoding.DecodeString(f.Sealed)
	if err != nil || seal == nil {
		return "", false
	}
	secret, err := seal.Open(nil, nil, text, []byte(name))
	if err != nil {
		return "", false
	}
	present := int64(now) / 1000 / otpStep
	for step := present - otpDrift; step <= present+otpDrift; step++ {
		if step > f.Last && subtle.ConstantTimeCompare([]byte(otp(secret, step)), []byte(code)) == 1 {
			f.Last = step
			return "TOTP", true
		}
	}
	return "", false
}

// prove checks the code of a login whose password is right.
func (s *Service) prove(ctx context.Context, a *attempt, u *User) error {
	if a.from.Code == "" {
		return factorError(u)
	}
	return s.proveBy(ctx, a, u, a.from.Code, Audit{At: a.at, Actor: a.name, Addr: a.from.Addr, Client: a.from.Client, Action: ActionFactorUsed, Subject: a.name, OK: true})
}

// proveBy accepts a code, a recovery code, or the answer of a passkey.
func (s *Service) proveBy(ctx context.Context, a *attempt, u *User, code string, row Audit) error {
	if isPasskeyAnswer(code) {
		return s.usePasskey(ctx, a, u, code, row)
	}
	return s.useCode(ctx, a, u, code, row, nil)
}

// useCode accepts a code once, within factorLimit, and then changes the factor. The errors are
// those of Authorize.
func (s *Service) useCode(ctx context.Context, a *attempt, u *User, code string, row Audit, change func(*Factor)) error {
	guesses := *a
	guesses.keys = attemptKeys(a.name, "second factor", a.networks)[:1]
	known, err := s.known(ctx, &guesses)
	if err != nil {
		return err
	}
	if wait := factorLimit.wait(known[0], a.at); wait > 0 {
		return &LimitedError{RetryAfter: wait}
	}
	seal, err := s.factorSeal()
	if err != nil && len(code) == otpDigits {
		return fmt.Errorf("%w: %w", hazard.ErrUnavailable, err)
	}
	seen := *u.Factor
	row.Detail, _ = seen.accepts(seal, u.Name, code, a.at)
	err = s.store.UpdateUser(ctx, u.Name, func(u *User) error { // which decides, also between two logins at once
		if u.Factor == nil {
			return ErrFactor
		}
		f := *u.Factor
		if _, ok := f.accepts(seal, u.Name, code, a.at); !ok {
			return ErrFactor
		}
		if change != nil {
			change(&f)
		}
		u.Factor = &f
		return nil
	}, row)
	if errors.Is(err, ErrFactor) {
		guesses.detail = "wrong code of the second factor"
		s.failed(ctx, &guesses, u.Name)
		return factorError(u)
	}
	if err != nil {
		return fmt.Errorf("second factor of %q: %w", u.Name, err)
	}
	s.reloadAfter(ctx)
	if known[0].Failures > 0 {
		s.local.succeed(guesses.keys, a.at)
		row.Action, row.Detail = ActionLogin, fmt.Sprintf("after %d wrong codes", known[0].Failures)
		if err := s.store.AddSuccess(ctx, guesses.keys, a.at, row); err != nil {
			s.warn(ctx, a.at, "cannot reset the count of wrong codes", "error", err)
		}
	}
	return nil
}
