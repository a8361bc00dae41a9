package channel

import (
	"strings"

	"github.com/go-json-experiment/json"
)

// slackText escapes the control characters of Slack ("Formatting text for app surfaces").
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// SlackMessage returns the body of a message with one line of text, as Slack, Mattermost and similar
// services take it.
func SlackMessage(line string) string {
	body, err := json.Marshal(map[string]string{"text": slackText.Replace(line)})
	if err != nil {
		panic(err) // names are valid UTF-8 since they were stored
	}
	return string(body)
}
