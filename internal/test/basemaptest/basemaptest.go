// Package basemaptest makes PMTiles archives for tests.
package basemaptest

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// Archive is an archive of one tile, that of zoom 0. Its zero value has no layers; Streets is one that a map can draw.
type Archive struct {
	Version     byte
	Internal    byte // compression of directories and metadata: 1 none, 2 gzip
	Compression byte // of the tile
	Kind        byte // type of the tile: 1 vector
	Zooms       [2]byte
	Bounds      [4]int32 // degrees times 10,000,000
	Metadata    string
	Tile        []byte // without compression
	Leaf        bool   // the directory of the tile is one below the first
}

// Streets returns an archive that is good: of the world at zoom 0.
func Streets() Archive {
	return Archive{
		Version: 3, Internal: 2, Compression: 2, Kind: 1, Zooms: [2]byte{0, 14}, Bounds: [4]int32{90000000, 530000000, 110000000, 540000000},
		Metadata: `{"attribution":"<b>Made by hand</b>","vector_layers":[{"id":"earth"},{"id":"water"},{"id":"roads"},{"id":"places"}]}`,
		Tile:     []byte("a tile that nobody decodes"),
	}
}

// Bytes returns the archive as a file has it (PMTiles version 3).
func (a Archive) Bytes() []byte {
	pack := func(b []byte, how byte) []byte {
		if how != 2 {
			return b
		}
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := w.Write(b); err != nil {
			panic(err) // memory takes all
		}
		if err := w.Close(); err != nil {
			panic(err)
		}
		return out.Bytes()
	}
	directory := func(run byte, length int) []byte {
		b := []byte{1, 0, run} // one entry, its id and run
		return pack(append(binary.AppendUvarint(b, uint64(length)), 1), a.Internal)
	}
	tile := pack(a.Tile, a.Compression)
	root, leaf := directory(1, len(tile)), []byte(nil)
	if a.Leaf {
		leaf = root
		root = directory(0, len(leaf))
	}
	metadata := pack([]byte(a.Metadata), a.Internal)
	head := make([]byte, 127)
	copy(head, "PMTiles")
	head[7] = a.Version
	at := uint64(len(head))
	for i, part := range [][]byte{root, metadata, leaf, tile} {
		binary.LittleEndian.PutUint64(head[8+16*i:], at)
		binary.LittleEndian.PutUint64(head[16+16*i:], uint64(len(part)))
		at += uint64(len(part))
	}
	head[97], head[98], head[99], head[100], head[101] = a.Internal, a.Compression, a.Kind, a.Zooms[0], a.Zooms[1]
	for i, b := range a.Bounds {
		binary.LittleEndian.PutUint32(head[102+4*i:], uint32(b))
	}
	return bytes.Join([][]byte{head, root, metadata, leaf, tile}, nil)
}

// File writes the archive to a file that goes with the test.
func (a Archive) File(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "streets.pmtiles")
	if err := os.WriteFile(path, a.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
