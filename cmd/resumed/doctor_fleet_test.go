package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"resumed/internal/doctor"

	"github.com/stretchr/testify/require"
)

func TestDoctorLooksAtTheFleet(t *testing.T) {
	h := newHubBox(t)
	h.serve()
	b := h.host("box")
	said, _ := b.examined()
	for _, name := range []string{"fleet keys", "fleet server", "fleet clock"} {
		require.Equal(t, doctor.OK, said[name].Status, said[name])
	}
	require.Contains(t, said["fleet server"].Text, "NATS 2.")
	require.Equal(t, doctor.Warn, said["fleet hosts"].Status, "no daemon runs")
	b.start()
	b.until("it is there", b.inFleet("connected", 1))
	said, _ = b.examined()
	require.Equal(t, doctor.OK, said["fleet hosts"].Status, said["fleet hosts"])
	require.Contains(t, said["fleet hosts"].Text, "box")

	require.NoError(t, os.Chmod(b.path(fleetKeys), 0o644))
	said, _ = b.examined()
	require.Equal(t, doctor.Warn, said["fleet keys"].Status)
	require.Contains(t, said["fleet keys"].Fix, "chmod 600")
	require.NoError(t, os.Chmod(b.path(fleetKeys), 0o600))

	other := &hubBox{box: h.box}
	other.init("other") // it does not run
	stranger := other.host("stranger")
	said, code := stranger.examined()
	require.NotZero(t, code)
	require.Equal(t, doctor.Fail, said["fleet server"].Status)
	require.Contains(t, said["fleet server"].Text, "no server answers")
	require.Contains(t, said["fleet server"].Fix, "resumed hub")
	right := b.read(fleetCA)
	b.write(fleetCA, stranger.read(fleetCA))
	said, code = b.examined()
	require.NotZero(t, code)
	require.Contains(t, said["fleet server"].Text, "not signed by a trusted authority")
	require.Contains(t, said["fleet server"].Fix, "hub invite")
	b.write(fleetCA, right)
	keys := b.read(fleetKeys)
	b.write(fleetKeys, stranger.read(fleetKeys))
	said, _ = b.examined()
	require.Contains(t, said["fleet server"].Text, "does not know this machine's key")
	b.write(fleetKeys, strings.Replace(keys, "BEGIN USER", "BEGIN NO", 1))
	said, _ = b.examined()
	require.Equal(t, doctor.Fail, said["fleet keys"].Status)
	require.NotContains(t, said, "fleet server", "there is nothing to ask with")
	b.write(fleetKeys, keys)

	require.NotZero(t, h.end(syscall.SIGKILL))
	said, _ = b.examined()
	require.Contains(t, said["fleet server"].Text, "no server answers")
}

// The files that join writes: this machine's keys, and the certificate that it trusts.
const (
	fleetKeys = ".config/resumed/fleet.credentials"
	fleetCA   = ".config/resumed/fleet-ca.pem"
)
