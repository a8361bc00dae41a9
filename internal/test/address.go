package test

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
)

// Address returns a loopback address for a server that t starts, or where nothing is to listen: nobody else gets it until t ends.
func Address(t testing.TB) netip.AddrPort {
	t.Helper()
	addr, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	return addr
}

// Reserve is Address until release is called, or this process ends. A port that was free a moment ago would not do: the
// kernel gives it to whoever asks for any port next. So the port is below those that it gives, and the UDP port of the
// same number, held meanwhile, tells the tests of all processes (and web/e2e/server.ts) that it is taken.
func Reserve() (addr netip.AddrPort, release func() error, err error) {
	for range 1000 {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(20000+rand.IntN(10000)))
		held, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(addr))
		if err != nil {
			continue
		}
		l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(addr))
		if err != nil { // a program that is none of the tests'
			if err := held.Close(); err != nil {
				return addr, nil, err
			}
			continue
		}
		return addr, held.Close, l.Close()
	}
	return addr, nil, errors.New("none of 1,000 ports from 20000 to 29999 is free")
}
