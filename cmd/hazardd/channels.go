package main

import (
	"github.com/hazardd/hazardd/internal/channel"
	"github.com/hazardd/hazardd/internal/service"
)

// channelFlags say how subscribers can be told.
type channelFlags struct {
	SMTP         string  `name:"smtp" placeholder:"ADDRESS" help:"Mail server for messages to subscribers: smtp://USER:PASSWORD@HOST:PORT (STARTTLS; without it to loopback only) or smtps://… (TLS). Default: no email."`
	SMTPPassword string  `name:"smtp-password-file" type:"path" placeholder:"FILE" help:"File of the password of the user in --smtp, where it is not in the address."`
	SMTPFrom     string  `name:"smtp-from" placeholder:"ADDRESS" help:"Sender of emails, such as 'Hazards <hazards@example.org>'."`
	WebPush      contact `name:"webpush" placeholder:"ADDRESS" help:"Send Web Push messages; mailto: or https: under which push services reach you. Default: no Web Push."`
	WebPushKey   string  `name:"webpush-key" type:"path" placeholder:"FILE" help:"File of the key of Web Push: 32 random bytes in base64, mode 0600, the same on all nodes. Default: webpush.key in the data folder, which is made; with --database there is no default."`
	Channels     string  `type:"path" placeholder:"FOLDER" help:"Folder of the HTTP services that subscribers can be told through, a file NAME.yaml each. Default: none."`
	ChannelRate  int     `default:"0" placeholder:"N" help:"Messages that are sent by email in a minute, and as many by Web Push; 0: any number."`
	AddressRate  int     `default:"30" placeholder:"N" help:"Messages that are sent to one address by email or Web Push in a minute; 0: any number."`
}

func (f *channelFlags) set(cfg *service.Config) {
	cfg.Channels = service.Channels{SMTP: f.SMTP, SMTPFrom: f.SMTPFrom, SMTPPassword: f.SMTPPassword, WebPush: string(f.WebPush), WebPushKey: f.WebPushKey, Folder: f.Channels,
		Limits: channel.Limits{Minute: f.ChannelRate, Address: f.AddressRate}}
}
