package auth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
)

func TestPasswordsThatAreGuessedFirstAreRefused(t *testing.T) {
	for _, p := range []auth.Password{
		"", "short", "fourteen chars", "14 characters", "aaaaaaaaaaaaaaa", "               ", "ababababababababab", "abcabcabcabcabcabc",
		"123456789012345", "1234567890123456", "098765432109876", "abcdefghijklmnop", "zyxwvutsrqponmlk", "111111222222333333",
		"qwertyuiopasdfgh", "QWERTYUIOP123456", "1qaz2wsx3edc4rfv", "zaq12wsxcde34rfv", "1q2w3e4r5t6y7u8i", "q1w2e3r4t5y6u7i8", "qazwsxedcrfvtgb",
		"asdfghjklasdfghjkl", "!@#$%^&*()!@#$%^", "poiuytrewqlkjhgf", "147258369147258369",
		"passwordpassword", "Password12345678", "P@ssw0rdP@ssw0rd", "Pa$$w0rd123456789", "password1234567890", "letmeinletmein123",
		"iloveyouiloveyou", "administrator123", "adminadminadmin1", "changemechangeme", "welcome1welcome1", "September-10-2026", "Summer2026!Summer2026!",
		"correcthorsebatterystaple", "correct horse battery staple", "thisisapassword", "mynameispassword", "Superman12345678",
		"hazardd-admin-2026", "hazardhazardhazard", "earthquake123456", "ann.miller.ann.miller", "Ann.Miller12345", "miller-miller-1999",
		"WilliamValkiriya-AK", "xelyjtvuyjdtybt", // only known from breaches
		"trustno1trustno1", "monkeymonkeymonkey", "jesuschrist12345", "\xff\xfe invalid but long enough",
		auth.Password(strings.Repeat("ab3k9 ", 200)),
	} {
		if auth.Weakness(p, "ann.miller") == "" {
			t.Errorf("%q is accepted", string(p))
		}
	}
}

func TestAnyCharactersMakeAPassword(t *testing.T) {
	for _, p := range []auth.Password{
		secret, "vexing lantern quilt moor", "лунаречкасапогокно", "月が綺麗ですね今日は海へ行こう", "k7!;  ~\t^pQ-é§½µ", "my dog ate nine cold apples",
		"xkcd says four words suffice", "🌋🌊🌪🔥🚒🛟🧭🗺🛰📡🔔🧯🏔🏕🛶", auth.Password(strings.Repeat("é", 5)) + "tall zebra hums", "no upper case nor digits",
		"ann.miller jogs past wet barns", auth.Password(strings.Repeat("Vu8 .qZx5;", 3) + strings.Repeat("x", 900)),
	} {
		if why := auth.Weakness(p, "ann.miller"); why != "" {
			t.Errorf("%q: %s", string(p), why)
		}
	}
}

func TestARandomPasswordIsGoodAndReadable(t *testing.T) {
	test.Seconds(t)
	test.NoRace(t)
	seen := map[auth.Password]bool{}
	for range test.Rounds(2000, 200) {
		p := auth.RandomPassword()
		if auth.Weakness(p, "admin") != "" || seen[p] || utf8.RuneCountInString(string(p)) != 23 || strings.ContainsAny(string(p), "l1o0I O") {
			t.Fatalf("%q", string(p))
		}
		seen[p] = true
	}
}

func TestAPasswordIsTheSameInBothNormalForms(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	must(t, s.Accounts().SetPassword(t.Context(), auth.Actor{}, "ann", "Jérôme mange six pommes", 0, t0))
	must(t, try(t, s, "ann", "Je\u0301ro\u0302me mange six pommes", home.String(), t0))
	must(t, try(t, s, "ann", "Jérôme mange six pommes", home.String(), t0))
	wantErr(t, try(t, s, "ann", "Jerome mange six pommes", home.String(), t0), auth.ErrDenied)
	wantErr(t, try(t, s, "ann", "Jérôme mange six pommes ", home.String(), t0), auth.ErrDenied)
}

func TestAStoredHashIsHeldToBounds(t *testing.T) {
	const salt, hash = "c2FsdHNhbHQ", "aGFzaGhhc2hoYXNoaGFzaA"
	good := auth.Hash("$argon2id$v=19$m=19456,t=2,p=1$" + salt + "$" + hash)
	must(t, auth.CheckPHC(good))
	must(t, auth.CheckPHC(auth.CheapHash(secret)))
	for name, h := range map[string]string{
		"empty":                     "",
		"another function":          "$argon2i$v=19$m=19456,t=2,p=1$" + salt + "$" + hash,
		"bcrypt":                    "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
		"another version":           "$argon2id$v=16$m=19456,t=2,p=1$" + salt + "$" + hash,
		"4 GiB":                     "$argon2id$v=19$m=4194304,t=2,p=1$" + salt + "$" + hash,
		"memory beyond uint32":      "$argon2id$v=19$m=4294967304,t=2,p=1$" + salt + "$" + hash,
		"negative memory":           "$argon2id$v=19$m=-1,t=2,p=1$" + salt + "$" + hash,
		"no memory":                 "$argon2id$v=19$m=0,t=2,p=1$" + salt + "$" + hash,
		"a million rounds":          "$argon2id$v=19$m=19456,t=1000000,p=1$" + salt + "$" + hash,
		"no rounds":                 "$argon2id$v=19$m=19456,t=0,p=1$" + salt + "$" + hash,
		"no threads":                "$argon2id$v=19$m=19456,t=2,p=0$" + salt + "$" + hash,
		"255 threads":               "$argon2id$v=19$m=19456,t=2,p=255$" + salt + "$" + hash,
		"256 threads":               "$argon2id$v=19$m=19456,t=2,p=256$" + salt + "$" + hash,
		"too little memory":         "$argon2id$v=19$m=16,t=2,p=4$" + salt + "$" + hash,
		"another order":             "$argon2id$v=19$t=2,m=19456,p=1$" + salt + "$" + hash,
		"leading zeros":             "$argon2id$v=19$m=019456,t=2,p=1$" + salt + "$" + hash,
		"a plus sign":               "$argon2id$v=19$m=+19456,t=2,p=1$" + salt + "$" + hash,
		"no salt":                   "$argon2id$v=19$m=19456,t=2,p=1$$" + hash,
		"no hash":                   "$argon2id$v=19$m=19456,t=2,p=1$" + salt + "$",
		"a short hash":              "$argon2id$v=19$m=19456,t=2,p=1$" + salt + "$aGFzaA",
		"a padded salt":             "$argon2id$v=19$m=19456,t=2,p=1$" + salt + "=$" + hash,
		"a line feed":               "$argon2id$v=19$m=19456,t=2,p=1$" + salt + "\n$" + hash,
		"text after the parameters": "$argon2id$v=19$m=19456,t=2,p=1,x=1$" + salt + "$" + hash,
		"a part more":               string(good) + "$",
		"100 kB":                    string(good) + strings.Repeat("A", 100_000),
	} {
		if auth.CheckPHC(auth.Hash(h)) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestSecretsShowNothingOfThemselves(t *testing.T) {
	const canary = "CANARY-of-a-quiet-lagoon"
	seed := auth.Seed([]byte("CANARY-seed-of-32-bytes-xxxxxxxx"))
	secrets := []any{
		auth.Password(canary), auth.Hash(canary), seed, auth.Pair{Access: canary, Refresh: canary}, new(auth.Password(canary)), &seed,
		&auth.Pair{Access: canary, Refresh: canary}, auth.User{Name: "u", PasswordHash: canary}, &auth.User{PasswordHash: canary},
		auth.Key{ID: "k", Seed: seed}, &auth.Key{Seed: seed}, auth.NewUser{Password: canary}, auth.Data{Users: []auth.User{{PasswordHash: canary}},
			Keys: []auth.Key{{Seed: seed}}}, map[string]auth.Password{"p": canary}, []any{auth.Password(canary)}, struct{ P auth.Pair }{auth.Pair{Access: canary}},
	}
	var out bytes.Buffer
	for _, v := range secrets {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10v", "%T%v"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		fmt.Fprintln(&out, fmt.Errorf("failed with %v and %w", v, hazard.ErrConflict))
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("x", "v", v, slog.Group("g", "v", v))
		}
		b, err := json.Marshal(v)
		must(t, err)
		out.Write(b)
		b, err = jsonv2.Marshal(v)
		must(t, err)
		out.Write(b)
	}
	for _, form := range []string{"CANARY", "43414e415259", "43414E415259", "67 65 78 65 82 89", "67,65,78,65,82,89", "0x43, 0x41", "Q0FOQVJZ"} {
		if i := strings.Index(out.String(), form); i >= 0 {
			t.Errorf("%q in …%s…", form, out.String()[max(0, i-60):i+60])
		}
	}
}

func TestNoErrorAndNoLogRepeatsASecret(t *testing.T) {
	const canary = "CANARY-CANARY-CANARY"
	var out bytes.Buffer
	s, store := serve(t, auth.Config{Log: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	addBroken(t, store)
	ctx := t.Context()
	say := func(_ any, err error) {
		if err == nil {
			t.Error("no error")
		}
		fmt.Fprintf(&out, "%v %+v %#v\n", err, err, err)
	}
	p := login(t, s, t0)
	for _, name := range []string{"ann", "nobody", "broken", canary} {
		for range 8 {
			say(s.Authorize(ctx, name, canary, auth.Origin{Addr: home}, t0))
		}
	}
	for _, token := range []string{canary, canary + "." + canary + "." + canary, p.Access + canary, p.Refresh + canary, auth.FlipSignature(p.Access)} {
		say(s.Verify(token, t0))
		say(s.Refresh(ctx, token, auth.Origin{Addr: home}, t0))
		say(nil, s.Revoke(ctx, token, auth.Origin{Addr: home}, t0))
	}
	for _, bad := range []auth.Password{"CANARY", canary + auth.Password(strings.Repeat("x", auth.MaxPassword)), canary + "\xff", "CANARYCANARYCANARY"} {
		say(nil, s.Accounts().AddUser(ctx, auth.Actor{}, auth.NewUser{Name: "bob", Role: auth.Reader, Password: bad}, t0))
		say(nil, s.Accounts().SetPassword(ctx, auth.Actor{}, "ann", bad, 0, t0))
	}
	must(t, s.Accounts().SetPassword(ctx, auth.Actor{}, "ann", canary+" tall zebra hums", 0, t0))
	store.Away(hazard.ErrUnavailable)
	say(nil, s.Accounts().AddUser(ctx, auth.Actor{}, auth.NewUser{Name: "bob", Role: auth.Reader, Password: canary + " tall zebra hums"}, t0))
	say(s.Authorize(ctx, "ann", canary, auth.Origin{Addr: home}, t0))
	store.Away(nil)
	rows, err := s.Accounts().Trail(ctx, auth.TrailFilter{Limit: 1000})
	must(t, err)
	fmt.Fprintf(&out, "%+v %+v %s", rows, s.Accounts().Users(), s.JWKS())
	for _, leak := range []string{"CANARY", p.Access, p.Refresh, strings.Split(p.Access, ".")[1], strings.Split(p.Refresh, ".")[2]} {
		if i := strings.Index(out.String(), leak); i >= 0 {
			t.Errorf("found in …%s…", out.String()[max(0, i-100):min(out.Len(), i+60)])
		}
	}
}

// Our own check knows no phrases.
func TestPhrasesAreRefused(t *testing.T) {
	for _, p := range []auth.Password{"iwillalwaysloveyou", "thequickbrownfox", "manchesterunited", "ilovemydogverymuch"} {
		if auth.Weakness(p, "ann") == "" {
			t.Errorf("%s is accepted", string(p))
		}
	}
	for _, p := range []auth.Password{secret, "another-quiet-canoe-nine", auth.RandomPassword()} {
		if why := auth.Weakness(p, "ann"); why != "" {
			t.Errorf("%s %s", string(p), why)
		}
	}
}
