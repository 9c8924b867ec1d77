// An OCI runtime in front of runc, for machines that are containers themselves and lack capabilities.
//
// kind's nodes are privileged containers, and runc refuses a specification that asks for a capability which the machine
// does not have. This program takes what is missing out of the specification (capabilities, and where CAP_SYS_RESOURCE
// is missing, resource limits and OOM scores below its own) and then becomes runc. Where nothing is missing it changes
// nothing, and it never adds anything.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// By their numbers in linux/capability.h.
const capabilities = "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE " +
	"NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE " +
	"SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL " +
	"SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"

type object = map[string]any

func fail(err error) {
	fmt.Fprintln(os.Stderr, "clamp:", err)
	os.Exit(1)
}

// missing has the capabilities that no child of this process can have.
func missing() (map[string]bool, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	_, rest, found := strings.Cut(string(status), "\nCapBnd:")
	if !found {
		return nil, nil
	}
	mask, err := strconv.ParseUint(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]), 16, 64)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for bit, name := range strings.Fields(capabilities) {
		if mask&(1<<bit) == 0 {
			gone["CAP_"+name] = true
		}
	}
	return gone, nil
}

func without(names []any, gone map[string]bool) []any {
	kept := []any{}
	for _, name := range names {
		if text, ok := name.(string); !ok || !gone[text] {
			kept = append(kept, name)
		}
	}
	return kept
}

func lower(process object, gone map[string]bool) {
	if sets, ok := process["capabilities"].(object); ok {
		for set, names := range sets {
			if list, ok := names.([]any); ok {
				sets[set] = without(list, gone)
			}
		}
	}
	if !gone["CAP_SYS_RESOURCE"] {
		return
	}
	delete(process, "rlimits")
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return
	}
	score, err := strconv.ParseFloat(strings.TrimSpace(string(own)), 64)
	if wanted, ok := process["oomScoreAdj"].(float64); ok && err == nil && wanted < score {
		process["oomScoreAdj"] = score
	}
}

// rewrite lowers the process of a file: the whole of it, or its field "process".
func rewrite(path string, isSpec bool, gone map[string]bool) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil // runc says it better
	}
	document := object{}
	if err := json.Unmarshal(content, &document); err != nil {
		return nil
	}
	process := document
	if isSpec {
		var ok bool
		if process, ok = document["process"].(object); !ok {
			return nil
		}
	}
	lower(process, gone)
	if content, err = json.Marshal(document); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// value is what an option has, as `--bundle X`, `--bundle=X` or `-b X`.
func value(arguments []string, names ...string) string {
	for i, argument := range arguments {
		for _, name := range names {
			if argument == name && i+1 < len(arguments) {
				return arguments[i+1]
			}
			if after, found := strings.CutPrefix(argument, name+"="); found {
				return after
			}
		}
	}
	return ""
}

// command is the first argument that is neither a global option of runc nor the value of one.
func command(arguments []string) (string, []string) {
	valued := map[string]bool{"--log": true, "--log-format": true, "--root": true, "--criu": true, "--rootless": true}
	for i := 0; i < len(arguments); i++ {
		switch {
		case valued[arguments[i]]:
			i++
		case !strings.HasPrefix(arguments[i], "-"):
			return arguments[i], arguments[i+1:]
		}
	}
	return "", nil
}

func runc() (string, error) {
	self, _ := os.Executable()
	for _, path := range []string{"/usr/sbin/runc", "/usr/bin/runc", "/usr/local/bin/runc"} {
		if _, err := os.Stat(path); err == nil && path != self {
			return path, nil
		}
	}
	return "", fmt.Errorf("runc is neither in /usr/sbin nor in /usr/bin")
}

func main() {
	gone, err := missing()
	if err != nil {
		fail(err)
	}
	if len(gone) > 0 {
		switch name, rest := command(os.Args[1:]); name {
		case "create", "run", "restore":
			err = rewrite(filepath.Join(value(rest, "--bundle", "-b"), "config.json"), true, gone)
		case "exec":
			if file := value(rest, "--process", "-p"); file != "" {
				err = rewrite(file, false, gone)
			}
		}
		if err != nil {
			fail(err)
		}
	}
	path, err := runc()
	if err != nil {
		fail(err)
	}
	fail(syscall.Exec(path, append([]string{"runc"}, os.Args[1:]...), os.Environ()))
}
