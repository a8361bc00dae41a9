package stream

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// unacknowledged bounds the messages that a broker may send before we have processed them. They
// wait in memory.
const unacknowledged = 32

// atLeastOnce is the requested quality of service. Repeated messages are recognized and dropped
// later.
const atLeastOnce = 1

// listenBroker reads the messages of a broker's topics. Each connection is a separate session with
// a new client id. Polling finds the messages that were published while there was no connection.
func (d *Dialer) listenBroker(ctx context.Context, p *source.Push, u *url.URL, h Handler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	raw, closed, err := d.open(ctx, withPort(u.Hostname(), u.Port(), u.Scheme), u.Scheme == "mqtts")
	if err != nil {
		return err
	}
	defer closed()
	pongs := make(chan struct{}, 1)
	messages := make(chan []byte)
	client := paho.NewClient(paho.ClientConfig{
		Conn:          packets.NewThreadSafeConn(&bounded{Conn: raw, max: p.MaxBytes + headerBytes, pongs: pongs}),
		PacketTimeout: openTimeout / 2,
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(r paho.PublishReceived) (bool, error) {
			select {
			case messages <- r.Packet.Payload:
			case <-ctx.Done():
			}
			return true, nil
		}},
		OnClientError: func(err error) { cancel(err) },
		OnServerDisconnect: func(m *paho.Disconnect) {
			cancel(fmt.Errorf("the broker ended the connection, reason %#x", m.ReasonCode))
		},
	})
	// The client's goroutines end with its connection. Its callbacks may block, so they return when
	// ctx ends.
	defer func() { cancel(nil); closed(); <-client.Done() }()
	if err := subscribe(ctx, client, p); err != nil {
		return err
	}
	h.Up()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-pongs:
			h.Alive()
		case m := <-messages:
			if err := h.Receive(ctx, m); err != nil {
				return err
			}
		}
	}
}

// subscribe logs in, and subscribes to the topics.
func subscribe(ctx context.Context, client *paho.Client, p *source.Push) error {
	connect := &paho.Connect{
		ClientID: "hazardd-" + uuid.NewString(), CleanStart: true, KeepAlive: uint16(max(1, min(p.Silence/2/time.Second, 600))),
		Username: p.User, UsernameFlag: p.User != "", Password: []byte(p.Password), PasswordFlag: p.Password != "",
		Properties: &paho.ConnectProperties{ReceiveMaximum: new(uint16(unacknowledged)), MaximumPacketSize: new(uint32(p.MaxBytes + headerBytes))},
	}
	if _, err := client.Connect(ctx, connect); err != nil {
		return err
	}
	var wanted paho.Subscribe
	for _, topic := range p.Topics {
		wanted.Subscriptions = append(wanted.Subscriptions, paho.SubscribeOptions{Topic: topic, QoS: atLeastOnce})
	}
	given, err := client.Subscribe(ctx, &wanted)
	if err != nil {
		return err
	}
	for i, reason := range given.Reasons {
		if reason >= 0x80 {
			return fmt.Errorf("the broker refuses topic %d, reason %#x", i+1, reason)
		}
	}
	return nil
}

// headerBytes bounds the bytes of an MQTT packet besides the message: topic and properties.
const headerBytes = 64 << 10

// bounded is a connection that fails when a packet announces more than max bytes, because the
// client would allocate that many. One goroutine reads it.
type bounded struct {
	net.Conn
	max   int64
	pongs chan<- struct{}

	left   int64 // remaining bytes of the present packet
	header []byte
}

// The fixed header of a packet (MQTT 5.0, section 2.1): a byte whose upper half is the type, and
// then the length of the rest, with seven bits in each byte.
const (
	pongType       = 13
	maxLengthBytes = 5
)

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	for _, c := range p[:n] {
		if b.left > 0 {
			b.left--
			continue
		}
		b.header = append(b.header, c)
		if len(b.header) < 2 || c&0x80 != 0 && len(b.header) < maxLengthBytes {
			continue
		}
		for i, l := range b.header[1:] {
			b.left |= int64(l&0x7f) << (7 * i)
		}
		if b.left > b.max {
			return 0, fmt.Errorf("%w: a packet of %d bytes", ErrTooLarge, b.left)
		}
		if b.header[0]>>4 == pongType {
			select {
			case b.pongs <- struct{}{}:
			default:
			}
		}
		b.header = b.header[:0]
	}
	return n, err
}
