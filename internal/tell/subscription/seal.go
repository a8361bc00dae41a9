package subscription

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tell/channel"
)

// Key encrypts addresses and signs links. It is not in the database, so a reader of the database or
// of a backup cannot read addresses.
type Key struct {
	seal cipher.AEAD
	mac  []byte
}

// KeyFile is the name of the key's file in the data folder.
const KeyFile = "addresses.key"

// ReadKey reads a key file: 32 random bytes in base64. If there is none and make is set, it creates
// one with mode 0600. It refuses a file that others can read.
func ReadKey(path string, make bool) (*Key, error) {
	seed, err := secret.Seed(path, make, "read the addresses of subscriptions")
	if err != nil {
		return nil, fmt.Errorf("key of the addresses of subscriptions: %w", err)
	}
	return NewKey(seed)
}

// NewKey makes a Key of 32 random bytes.
func NewKey(seed []byte) (*Key, error) {
	derive := func(what string) []byte {
		k, err := hkdf.Key(sha256.New, seed, nil, "hazardd subscriptions "+what, 32)
		if err != nil {
			panic(err) // all lengths are constants
		}
		return k
	}
	block, err := aes.NewCipher(derive("addresses"))
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	return &Key{seal, derive("links")}, err
}

// close encrypts the addresses of a subscription, by channel.
func (k *Key) close(id string, addresses map[string]string) (string, error) {
	text, err := json.Marshal(addresses, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(k.seal.Seal(nil, nil, text, []byte(id))), nil
}

// open decrypts the addresses of a subscription.
func (k *Key) open(id, sealed string) (map[string]string, error) {
	text, err := base64.StdEncoding.DecodeString(sealed)
	if err == nil {
		text, err = k.seal.Open(nil, nil, text, []byte(id))
	}
	addresses := map[string]string{}
	if err == nil {
		err = json.Unmarshal(text, &addresses)
	}
	if err != nil {
		return nil, errors.New("the addresses of a subscription cannot be decrypted: this is not the key that they were encrypted with")
	}
	return addresses, nil
}

// Needs says what the subscriptions of a store need beside it.
type Needs struct {
	Subscriptions int // their addresses are encrypted
	Unread        int // of these, with another key
	Push          int // active channels of Web Push
	Unsigned      int // of these, whose browsers take messages that another key signed
}

// Needs counts the subscriptions that need k, and the public key of Web Push; without it, push is empty,
// and without k, it is nil.
func (k *Key) Needs(ctx context.Context, subscriptions *store.Subscriptions, push string) (n Needs, err error) {
	const page = 500
	for after := ""; ; {
		list, err := subscriptions.Of(ctx, "", true, after, page)
		if err != nil {
			return n, err
		}
		for i := range list {
			n.Subscriptions++
			if k == nil {
				n.Unread++
			} else if _, err := k.open(list[i].ID, list[i].Sealed); err != nil {
				n.Unread++
			}
			sub, err := read(&list[i])
			if err != nil {
				continue // it is damaged, and named as that
			}
			for _, c := range sub.Channels {
				if c.Kind == channel.WebPush && c.Status == Active {
					n.Push++
					if push == "" || c.PushKey != "" && c.PushKey != push {
						n.Unsigned++
					}
				}
			}
		}
		if len(list) < page {
			return n, nil
		}
		after = list[page-1].ID
	}
}

// hash returns a keyed hash of a text that must be compared but not revealed.
func (k *Key) hash(what, text string) string {
	mac := hmac.New(sha256.New, k.mac)
	fmt.Fprintf(mac, "%s\x00%s", what, text)
	return hex.EncodeToString(mac.Sum(nil)[:12])
}

// The purposes of a link's token.
const (
	ToConfirm     = "confirm"     // confirm an address
	ToUnsubscribe = "unsubscribe" // end a channel
	ToManage      = "manage"      // read, change and remove a subscription
)

// sign creates a token for a purpose, for a channel of a subscription with the address of stamp,
// valid until a moment (0 means forever).
func (k *Key) sign(purpose, id, channel, stamp string, until hazard.Instant) string {
	payload := strings.Join([]string{purpose, id, channel, stamp, strconv.FormatInt(int64(until), 36)}, ".")
	mac := hmac.New(sha256.New, k.mac)
	mac.Write([]byte("token\x00" + payload))
	return payload + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// code returns the six digits that confirm the address of a channel: the same while it is asked for the
// same time. Six digits are enough because maxTries bounds how many are tried.
func (k *Key) code(id string, c *Channel) string {
	mac := hmac.New(sha256.New, k.mac)
	fmt.Fprintf(mac, "code\x00%s.%s.%s.%d", id, c.ID, c.Stamp, c.Asked)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint64(mac.Sum(nil))%1_000_000)
}

// errToken refuses a token.
var errToken = fmt.Errorf("%w: the link is not valid, or no longer", hazard.ErrNotFound)

// verify parses and checks a token for a purpose.
func (k *Key) verify(purpose, token string, now hazard.Instant) (id, channel, stamp string, err error) {
	f := strings.Split(token, ".")
	if len(f) != 6 || f[0] != purpose {
		return "", "", "", errToken
	}
	until, err := strconv.ParseInt(f[4], 36, 64)
	if err != nil || !hmac.Equal([]byte(k.sign(f[0], f[1], f[2], f[3], hazard.Instant(until))), []byte(token)) || until != 0 && until <= int64(now) {
		return "", "", "", errToken
	}
	return f[1], f[2], f[3], nil
}
