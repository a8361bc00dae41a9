package message

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/lang/words"
)

// Mail is a message in the forms that mail programs show.
type Mail struct {
	Subject, Text, HTML string
	Language            string // BCP 47
	Unsubscribe         string // an address that may stand in a header; empty if there is none
	Pictures            []Picture
}

// Picture is a PNG to which the HTML of a Mail refers by its name: <img src="cid:name">.
type Picture struct {
	Name string
	PNG  []byte
}

// The limits of the pictures of a mail: their width in pixels (shown at half of it on dense screens),
// their number, and the bytes of each.
const (
	pictureWidth = 960
	maxPictures  = 3
	maxPicture   = 1 << 20
)

//go:embed mail.html
var mailHTML string

// spoken returns the template in each language by its tag. They are made on first use.
var spoken = sync.OnceValue(func() map[string]func() *template.Template {
	// It is never executed, so that it can be cloned for each language.
	templates := template.Must(template.New("mail").Funcs(template.FuncMap{"t": words.English().Say, "say": words.English().Say, "lines": lines}).Parse(mailHTML))
	in := map[string]func() *template.Template{}
	for _, l := range words.All() {
		in[l.ID] = sync.OnceValue(func() *template.Template {
			return template.Must(templates.Clone()).Funcs(template.FuncMap{"t": l.Say, "say": func(key string) string { return l.Say("notice." + key) }})
		})
	}
	return in
})

func lines(s string) []string { return strings.Split(s, "\n") }

// Mail returns the message as a mail. It leaves out pictures that cannot be drawn, because the text
// matters more.
func (n *Notice) Mail() (*Mail, error) {
	w := n.write()
	m := &Mail{Subject: w.subject, Text: w.text(), Language: w.l.ID, Unsubscribe: w.stop}
	type shown struct {
		entry
		Image string
	}
	data := struct {
		Language, Dir, Subject    string
		Exercise                  bool
		Head, Intro, Foot         []string
		Button, ButtonLink        string
		Items                     []shown
		Short                     bool
		More, Manage, Unsubscribe string
	}{Language: w.l.ID, Dir: w.l.Dir, Subject: w.subject, Exercise: w.exercise, Head: w.head, Intro: w.intro, Foot: w.foot, Button: w.button[0], ButtonLink: w.button[1],
		Short: w.thumbnail, More: w.more, Manage: w.manage, Unsubscribe: w.stop}
	for _, e := range w.items {
		s := shown{entry: e}
		if e.Picture != nil && len(m.Pictures) < maxPictures {
			if png, err := e.Picture(pictureWidth); err == nil && len(png) > 0 && len(png) <= maxPicture {
				s.Image = fmt.Sprintf("map-%d", len(m.Pictures))
				m.Pictures = append(m.Pictures, Picture{s.Image, png})
			}
		}
		data.Items = append(data.Items, s)
	}
	var out bytes.Buffer
	if err := spoken()[w.l.ID]().Execute(&out, data); err != nil {
		return nil, fmt.Errorf("write a message as HTML: %w", err)
	}
	m.HTML = out.String()
	return m, nil
}
