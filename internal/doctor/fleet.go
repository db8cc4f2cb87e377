package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"resumed/internal/config"
	"resumed/internal/fleet/natskv"
	"resumed/internal/humanize"
)

// joinAgain is the fix if the hub does not accept this machine's fleet settings.
const joinAgain = "resumed hub invite, on the hub's machine, prints a line: run it here"

// examineFleet connects to the configured fleet as the daemon would.
func examineFleet(ctx context.Context, r *Report, in Input) {
	cfg := in.Config.Fleet
	if cfg.URL == "" {
		return
	}
	credentials, err := natskv.ReadCredentials(cfg.CredentialsFile)
	if err != nil {
		r.Fail("fleet keys", err.Error(), joinAgain)
		return
	}
	if info, err := os.Stat(cfg.CredentialsFile); err == nil && info.Mode().Perm()&0o077 != 0 {
		r.Warn("fleet keys", cfg.CredentialsFile+" can be read by others, who could pretend to be this machine", "chmod 600 "+cfg.CredentialsFile)
	} else {
		r.OK("fleet keys", cfg.CredentialsFile+", for this machine alone")
	}
	var reached *natskv.Health
	for url := range strings.SplitSeq(cfg.URL, ",") {
		url = strings.TrimSpace(url)
		found, err := natskv.Check(ctx, natskv.Options{URL: url, Credentials: credentials, CAFile: cfg.CAFile, Host: in.Host})
		if err != nil {
			r.Fail("fleet server", url+": "+err.Error(), fleetRemedy(err, cfg))
			continue
		}
		r.OK("fleet server", fmt.Sprintf("%s: NATS %s, answers in %s", url, found.Version, found.Took.Round(time.Millisecond/10)))
		reached = &found
	}
	if reached != nil {
		examineFleetClock(r, *reached)
		examineFleetHosts(r, *reached, in.Version)
	}
}

// fleetRemedy returns the fix for an error of the fleet.
func fleetRemedy(err error, cfg config.Fleet) string {
	switch {
	case errors.Is(err, natskv.ErrNobodyThere):
		return "start resumed hub there, or correct fleet.url; until then this machine works alone"
	case errors.Is(err, natskv.ErrUntrusted) && cfg.CAFile == "":
		return "name the certificate that signed it as fleet.ca_file"
	case errors.Is(err, natskv.ErrUntrusted), errors.Is(err, natskv.ErrUnknownHost):
		return joinAgain
	case errors.Is(err, natskv.ErrOtherName):
		return "write the name that the certificate has into fleet.url, or make a new hub: resumed hub init --listen NAME:PORT"
	case errors.Is(err, natskv.ErrTooOld):
		return "use a newer server, or resumed hub"
	case errors.Is(err, natskv.ErrRollup):
		return "set allow_rollup_hdrs to false for them, and no subject_delete_marker_ttl, as docs/fleet.md says"
	case errors.Is(err, natskv.ErrNoFleetData):
		return "make the fleet's streams as docs/fleet.md says"
	default:
		return "make sure that fleet.url, credentials_file and ca_file belong to the same fleet: " + joinAgain
	}
}

func examineFleetClock(r *Report, h natskv.Health) {
	const fix = "timedatectl set-ntp true, here and where the hub is"
	text := fmt.Sprintf("the server's is %s ahead of this one's", h.Skew)
	if h.Skew < 0 {
		text = fmt.Sprintf("the server's is %s behind this one's", -h.Skew)
	}
	switch {
	case h.Alone:
		r.Fail("fleet clock", text+": too far, this machine works alone", fix)
	case h.Off:
		r.Warn("fleet clock", text, fix)
	default:
		r.OK("fleet clock", text)
	}
}

// examineFleetHosts compares the versions of all machines with this program's.
func examineFleetHosts(r *Report, h natskv.Health, version string) {
	var names, others []string
	for _, host := range h.Hosts {
		if host.Bye {
			continue
		}
		names = append(names, host.Host)
		if host.Version != "" && host.Version != version {
			others = append(others, host.Host+" ("+host.Version+")")
		}
	}
	slices.Sort(names)
	slices.Sort(others)
	const shown = 10
	list := func(all []string) string {
		if more := len(all) - shown; more > 0 {
			return strings.Join(all[:shown], ", ") + fmt.Sprintf(" and %d more", more)
		}
		return strings.Join(all, ", ")
	}
	switch {
	case len(others) > 0:
		r.Warn("fleet hosts", fmt.Sprintf("other versions than this one's (%s) run on %s", version, list(others)), "install one version on all of them, and restart their daemons")
	case len(names) == 0:
		r.Warn("fleet hosts", "no daemon is connected, not even this machine's", "resumed install, or resumed run")
	default:
		r.OK("fleet hosts", humanize.Count(len(names), "machine")+": "+list(names))
	}
}
