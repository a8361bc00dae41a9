package auth

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"sort"
)

// frequentSums are the first five bytes of the SHA-256 of passwords that were found often in breaches,
// in lower case, sorted: of the 9728 of a list of a million that have minPassword characters or more.
// Shorter ones are refused for their length. The list is 10-million-password-list-top-1000000 of SecLists
// (MIT License, Copyright Daniel Miessler). By chance, one other password in a hundred million is refused.
//
//go:embed frequent.bin
var frequentSums []byte

const frequentSum = 5 // bytes

// frequent reports whether a password, in lower case and normal form, is one of those.
func frequent(p string) bool {
	sum := sha256.Sum256([]byte(p))
	at := func(i int) []byte { return frequentSums[i*frequentSum : (i+1)*frequentSum] }
	n := len(frequentSums) / frequentSum
	i := sort.Search(n, func(i int) bool { return bytes.Compare(at(i), sum[:frequentSum]) >= 0 })
	return i < n && bytes.Equal(at(i), sum[:frequentSum])
}
