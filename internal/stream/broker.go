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

	"github.com/hazardd/hazardd/internal/source"
)

// unacknowledged is how many messages a broker may send that were not taken in yet. They wait in memory.
const unacknowledged = 32

// atLeastOnce is the quality of service that is asked for: who sees a message twice drops it.
const atLeastOnce = 1

// listenBroker reads the messages of a broker's topics. Each connection is a session of its own, under a name that is used once: what came
// while there was none is found by polling.
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
	// What the client started ends with its connection; its calls of our functions do not, so those do nothing after the end of ctx.
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

// headerBytes is what a packet of MQTT may have besides its message: topic and properties.
const headerBytes = 64 << 10

// bounded is a connection that fails before a packet is read that is larger than max: the client would allocate what it claims.
// It is read by one goroutine.
type bounded struct {
	net.Conn
	max   int64
	pongs chan<- struct{}

	left   int64 // of the packet that is being read
	header []byte
}

// The fixed header of a packet (MQTT 5.0, section 2.1): a byte whose upper half is the type, and the length of the rest, seven bits a byte.
const (
	pongType  = 13
	mostBytes = 5
)

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	for _, c := range p[:n] {
		if b.left > 0 {
			b.left--
			continue
		}
		b.header = append(b.header, c)
		if len(b.header) < 2 || c&0x80 != 0 && len(b.header) < mostBytes {
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
