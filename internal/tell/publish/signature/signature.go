// Package signature signs XML documents: an enveloped signature (XML Signature, section 3.1) as the last child of the document's element, as CAP 1.2 has
// it for alerts (section 3.3.4.1).
//
// The same document and key give the same bytes, whenever and on whatever node they are signed: RSA with PKCS #1 v1.5 and SHA-256, over exclusive
// canonical XML. So what is made again when asked for stays what it was.
package signature

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"

	"github.com/hazardd/hazardd/internal/auth/secret"
	"github.com/hazardd/hazardd/internal/net/listen/certificate"
)

// Bounds of a key, in bits: shorter ones are no longer believed, and signing takes the square of the length and more.
const (
	minBits = 2048
	maxBits = 4096
)

// Signer signs with one key. It is safe for concurrent use.
type Signer struct {
	context *dsig.SigningContext
	leaf    *x509.Certificate
}

// Open reads a key and its certificate, followed by its intermediates, from files of PEM. A key that others than its owner and group may read is refused.
func Open(key, certificateFile string) (*Signer, error) {
	if err := secret.Private(key, secret.NotOwnerOrGroup, "sign messages in our name"); err != nil {
		return nil, err
	}
	pair, _, err := certificate.Read(certificateFile, key)
	if err != nil {
		return nil, err
	}
	private, ok := pair.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is not an RSA key: signatures of other kinds differ each time", key)
	}
	if bits := private.N.BitLen(); bits < minBits || bits > maxBits {
		return nil, fmt.Errorf("%s is an RSA key of %d bits: it must have from %d to %d", key, bits, minBits, maxBits)
	}
	s := &Signer{leaf: pair.Leaf}
	if s.context, err = dsig.NewSigningContext(private, pair.Certificate); err != nil {
		return nil, err
	}
	s.context.Canonicalizer = dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("")
	return s, s.context.SetSignatureMethod(dsig.RSASHA256SignatureMethod)
}

// End is when the certificate ends.
func (s *Signer) End() time.Time { return s.leaf.NotAfter }

// Sign returns the document with a signature before the end tag of its element. All that is before the signature is the document's, byte by byte.
func (s *Signer) Sign(document []byte) ([]byte, error) {
	tree := etree.NewDocument()
	if err := tree.ReadFromBytes(document); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	at := bytes.LastIndex(document, []byte("</"))
	if tree.Root() == nil || at < 0 {
		return nil, errors.New("sign: the document has no element with content")
	}
	element, err := s.context.ConstructSignature(tree.Root(), true)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	own := etree.NewDocumentWithRoot(element)
	own.WriteSettings.CanonicalEndTags = true
	text, err := own.WriteToBytes()
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	signed := make([]byte, 0, len(document)+len(text))
	return append(append(append(signed, document[:at]...), text...), document[at:]...), nil
}
