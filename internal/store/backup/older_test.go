package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/backup"
	"github.com/hazardd/hazardd/internal/test"
)

// rewrite returns an archive with the same entries, modified by alter, and with matching checksums.
// An entry for which alter returns nil is left out.
func rewrite(t *testing.T, text []byte, alter func(name string, content []byte) []byte) []byte {
	t.Helper()
	plain, err := unzip(text)
	if err != nil {
		t.Fatal(err)
	}
	var out, sums bytes.Buffer
	w := tar.NewWriter(&out)
	for r := tar.NewReader(bytes.NewReader(plain)); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		content, err2 := io.ReadAll(r)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if head.Name == "SHA256SUMS" {
			content = sums.Bytes()
		}
		if content = alter(head.Name, content); content == nil {
			continue
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), head.Name)
		err = w.WriteHeader(&tar.Header{Name: head.Name, Mode: 0o600, Size: int64(len(content))})
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return zip(t, out.Bytes())
}

// edit modifies a JSON document.
func edit[T any](t *testing.T, content []byte, f func(*T)) []byte {
	t.Helper()
	var v T
	if err := json.Unmarshal(content, &v); err != nil {
		t.Fatal(err)
	}
	f(&v)
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// An archive of an earlier release is restored as it was, and then migrated as the store would have
// been.
func TestAnArchiveOfAnEarlierReleaseIsRestored(t *testing.T) {
	test.NoRace(t)
	test.Seldom(t)
	from := newSource(t, "SQLite")
	var meta []byte
	// Tables and columns that the earlier release did not have.
	later := []string{"forks", "contents", "wakes", "merges", "splits", "shapes", "publishing", "subscriptions", "notices", "told", "confirmations", "pruned", "drafts", "draft_marks", "asset_sets", "assets"}
	laterColumns := map[string][]string{"changes": {"audience"}, "audit": {"client", "request"}, "sessions": {"created_ms", "used_ms", "addr", "client", "provider"},
		"parted": {"one"}, "reports": {"payload"}, "source_errors": {"payload"}, "events": {"shapes"}, "read_keys": {"scope", "used_ms"}}
	texts := map[string][]byte{} // of the tables with such columns
	old := rewrite(t, from.text, func(name string, content []byte) []byte {
		switch name {
		case "manifest.json": // as before forks were recorded
			return edit(t, content, func(m *backup.Manifest) {
				m.Schema = 4
				m.Tables = slices.DeleteFunc(m.Tables, func(t store.Table) bool { return slices.Contains(later, t.Name) })
				for i := range m.Tables {
					m.Tables[i].Columns = slices.DeleteFunc(m.Tables[i].Columns, func(c store.Column) bool { return slices.Contains(laterColumns[m.Tables[i].Name], c.Name) })
				}
			})
		case "tables/meta.000001.ndjson":
			for line := range bytes.Lines(content) {
				if !bytes.Contains(line, []byte("oldest_schema")) && !bytes.Contains(line, []byte("bodies")) {
					meta = append(meta, line...)
				}
			}
			return meta
		case "totals.json":
			return edit(t, content, func(totals *backup.Totals) {
				totals.Tables = slices.DeleteFunc(totals.Tables, func(t backup.TableTotal) bool { return slices.Contains(later, t.Name) })
				for i, t := range totals.Tables {
					if laterColumns[t.Name] != nil {
						totals.Tables[i].SHA256 = fmt.Sprintf("%x", sha256.Sum256(texts[t.Name]))
					}
				}
				totals.Tables[0] = backup.TableTotal{Name: "meta", Rows: int64(bytes.Count(meta, []byte("\n"))), SHA256: fmt.Sprintf("%x", sha256.Sum256(meta))}
			})
		}
		table, _, _ := strings.Cut(strings.TrimPrefix(name, "tables/"), ".")
		if slices.Contains(later, table) {
			return nil
		}
		for _, column := range laterColumns[table] {
			content = regexp.MustCompile(`,"`+column+`":(null|true|false|-?[0-9]+|"([^"\\]|\\.)*")`).ReplaceAll(content, nil)
		}
		if laterColumns[table] != nil {
			texts[table] = append(texts[table], content...)
		}
		return content
	})
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			to := kind(t)
			// Interrupt the restore when its tables are those of this release already.
			ctx, stop := context.WithCancel(t.Context())
			if _, _, err := backup.Restore(ctx, bytes.NewReader(old), to.into(), made, func(what string, _, _ int64) {
				if what == "finish" {
					stop()
				}
			}); err == nil {
				t.Fatal("it was not interrupted")
			}
			unopened(t, to, "restore")
			if _, result, err := backup.Restore(t.Context(), bytes.NewReader(old), to.into(), made, nil); err != nil || !result.Resumed {
				t.Fatal(err)
			}
			derived := append(replaced, "contents", "wakes", "changes", "audit", "sessions")
			if diff := cmp.Diff(sums(t, from.place, derived...), sums(t, to, derived...)); diff != "" {
				t.Error("tables differ:", diff)
			}
			if diff := cmp.Diff(from.answers, to.ask(t, "red")); diff != "" {
				t.Error("answers differ:", diff)
			}
		})
	}
}

func TestAnArchiveIsRefusedForWhatItSays(t *testing.T) {
	test.NoRace(t)
	text := filledArchive(t)
	for name, test := range map[string]struct {
		alter func(name string, content []byte) []byte
		want  string
	}{
		"it is of a later schema": {func(name string, content []byte) []byte {
			if name == "manifest.json" {
				return edit(t, content, func(m *backup.Manifest) { m.Schema = 99 })
			}
			return content
		}, "written by a later release, hazardd v1.0.0"},
		"it is of a later format": {func(name string, content []byte) []byte {
			if name == "manifest.json" {
				return edit(t, content, func(m *backup.Manifest) { m.Format = 2 })
			}
			return content
		}, "written by a later release"},
		"a table was left out": {func(name string, content []byte) []byte {
			if strings.HasPrefix(name, "tables/users") {
				return nil
			}
			return content
		}, `"totals.json": table users has 0 rows`},
		"a table is not named": {func(name string, content []byte) []byte {
			switch {
			case name == "manifest.json":
				return edit(t, content, func(m *backup.Manifest) {
					m.Tables = slices.DeleteFunc(m.Tables, func(t store.Table) bool { return t.Name == "users" })
				})
			case strings.HasPrefix(name, "tables/users"):
				return nil
			}
			return content
		}, "the archive has no table users, which stores of schema"},
		"a row was left out": {func(name string, content []byte) []byte {
			if strings.HasPrefix(name, "tables/users") {
				return content[bytes.IndexByte(content, '\n')+1:]
			}
			return content
		}, `"totals.json": table users has 5 rows`},
		"a row lacks a column": {func(name string, content []byte) []byte {
			if strings.HasPrefix(name, "tables/users") {
				return append([]byte(`{"name":"eve"}`+"\n"), content...)
			}
			return content
		}, `"tables/users.000001.ndjson": table users: a row of 1 columns`},
		"a file was left out": {func(name string, content []byte) []byte {
			if strings.HasPrefix(name, "files/") {
				return nil
			}
			return content
		}, `"totals.json": .* 2 files`},
		"a file is another": {func(name string, content []byte) []byte {
			if strings.HasPrefix(name, "files/") {
				return append(content, '!')
			}
			return content
		}, `"files/.*: the SHA-256 of its content differs from its name`},
		"the sums are others": {func(name string, content []byte) []byte {
			if name == "SHA256SUMS" {
				return bytes.Replace(content, []byte("  manifest"), []byte("  manifesto"), 1)
			}
			return content
		}, `"SHA256SUMS": SHA256SUMS has`},
		"the totals are missing": {func(name string, content []byte) []byte {
			if name == "totals.json" {
				return nil
			}
			return content
		}, `"SHA256SUMS": this entry is not expected here`},
		"the manifest is missing": {func(name string, content []byte) []byte {
			if name == "manifest.json" {
				return nil
			}
			return content
		}, `the first entry is not manifest.json`},
	} {
		t.Run(name, func(t *testing.T) {
			to := kinds["SQLite"](t)
			_, _, err := backup.Restore(t.Context(), bytes.NewReader(rewrite(t, text, test.alter)), to.into(), made, nil)
			if err == nil {
				t.Fatal("it is restored")
			}
			if !regexp.MustCompile(test.want).MatchString(err.Error()) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
	if _, _, err := backup.Verify(t.Context(), strings.NewReader("SQLite format 3"), nil); err == nil || !strings.Contains(err.Error(), "not an archive of hazardd") {
		t.Errorf("something else: %v", err)
	}
}

// PostgreSQL accepts less as text than SQLite: only UTF-8 without NUL characters. One such text in
// a log must not prevent the move of a store.
func TestTextsThatPostgreSQLCannotHold(t *testing.T) {
	test.NoRace(t)
	test.Seldom(t)
	from, same, to, moved := kinds["SQLite"](t).filled(t), kinds["SQLite"](t), kinds["PostgreSQL"](t), kinds["PostgreSQL"](t)
	d, err := sql.Open("sqlite", filepath.Join(from.dir, "hazardd.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.ExecContext(t.Context(), `INSERT INTO audit (id, at_ms, actor, addr, action, subject, detail, ok) VALUES (0, 1, $1, '', 'login', $2, '', 0)`, "a\x00b", "c\xffd")
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	text, _, _ := back(t, from.open(t))
	if _, result, err := backup.Restore(t.Context(), bytes.NewReader(text), same.into(), made, nil); err != nil || result.Altered != 0 {
		t.Errorf("to SQLite: %+v, %v", result, err)
	}
	if diff := cmp.Diff(sums(t, from, replaced...), sums(t, same, replaced...)); diff != "" {
		t.Error("tables differ:", diff)
	}
	if _, result, err := backup.Restore(t.Context(), bytes.NewReader(text), to.into(), made, nil); err != nil || result.Altered != 1 {
		t.Errorf("to PostgreSQL: %+v, %v", result, err)
	}
	if result, err := backup.Migrate(t.Context(), from.open(t), moved.into(), true, made, nil); err != nil || result.Altered != 1 {
		t.Errorf("move to PostgreSQL: %+v, %v", result, err)
	}
	if diff := cmp.Diff(sums(t, from, "audit"), sums(t, moved, "audit")); diff != "" {
		t.Error("tables differ:", diff)
	}
}
