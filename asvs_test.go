package hazardd

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// asvs are the requirements of levels 1 and 2 of OWASP's ASVS 5.0.0: how many each section has, from 1.
const asvs = `1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2 4.1:3 4.2:1 4.3:2 4.4:4 5.1:1 5.2:3 5.3:2 5.4:3
6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 8.2:3 8.3:1 8.4:1 9.1:3 9.2:4 10.1:2 10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3
11.1:2 11.2:3 11.3:3 11.4:4 11.5:1 11.6:1 12.1:3 12.2:2 12.3:4 13.1:1 13.2:5 13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7 16.1:1 16.2:5 16.3:4 16.4:3 16.5:3
17.1:1 17.2:4 17.3:2`

// SECURITY.md says of each requirement once what is done about it, and each test that it names exists.
func TestEveryRequirementOfTheASVSHasAnAnswer(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+\.[\d., ]+) \| ([a-z ]+) \| .+ \|$`).FindAllStringSubmatch(string(text), -1) {
		if state := row[2]; state != "met" && state != "partly" && state != "not met" && state != "not ours" {
			t.Errorf("%s: unknown state %q", row[1], state)
		}
		for requirement := range strings.SplitSeq(row[1], ", ") {
			answers[requirement]++
		}
	}
	all := 0
	for field := range strings.FieldsSeq(asvs) {
		section, count, _ := strings.Cut(field, ":")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			all++
			if requirement := section + "." + strconv.Itoa(i+1); answers[requirement] != 1 {
				t.Errorf("%s has %d rows, want one", requirement, answers[requirement])
			}
		}
	}
	if all != 253 || len(answers) != all {
		t.Errorf("%d requirements, %d rows; want 253", all, len(answers))
	}

	there := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		code, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(code, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
		if !there[m[1]] {
			t.Errorf("SECURITY.md names the test %s, which does not exist", m[1])
		}
	}
}
