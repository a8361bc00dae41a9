package main

import (
	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/tell/channel"
)

// channelFlags configure the channels that notify subscribers.
type channelFlags struct {
	SMTP         string  `name:"smtp" placeholder:"ADDRESS" help:"Mail server for messages to subscribers: smtp://USER:PASSWORD@HOST:PORT (STARTTLS; without it to loopback only) or smtps://… (TLS). Default: no email."`
	SMTPPassword string  `name:"smtp-password-file" type:"path" placeholder:"FILE" help:"File with the password of the user in --smtp, if the address has none."`
	SMTPFrom     string  `name:"smtp-from" placeholder:"ADDRESS" help:"Sender of emails, such as 'Hazards <hazards@example.org>'."`
	WebPush      contact `name:"webpush" placeholder:"ADDRESS" help:"Send Web Push messages. The value is a mailto: or https: address at which push services can reach you. Default: no Web Push."`
	WebPushKey   string  `name:"webpush-key" type:"path" placeholder:"FILE" help:"File with the Web Push key: 32 random bytes in base64, mode 0600, the same on all nodes. Default: webpush.key in the data folder, created if missing; with --database there is no default."`
	Channels     string  `type:"path" placeholder:"FOLDER" help:"Folder that describes the HTTP services for notifications, one file NAME.yaml each. Default: none."`
	ChannelRate  int     `default:"0" placeholder:"N" help:"Messages per minute by email, and as many by Web Push; 0 means no limit."`
	AddressRate  int     `default:"${address_rate}" placeholder:"N" help:"Messages per minute to one address, by email or Web Push; 0 means no limit."`
}

func (f *channelFlags) set(cfg *app.Config) {
	cfg.Channels = app.Channels{SMTP: f.SMTP, SMTPFrom: f.SMTPFrom, SMTPPassword: f.SMTPPassword, WebPush: string(f.WebPush), WebPushKey: f.WebPushKey, Folder: f.Channels,
		Limits: channel.Limits{Minute: f.ChannelRate, Address: f.AddressRate}}
}
