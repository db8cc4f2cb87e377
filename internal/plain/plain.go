// Package plain words the errors of files, programs, addresses and parsers for people, without the words of Go.
package plain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Text returns the text of an error. What Go's libraries say in it is said in plain words.
func Text(err error) string { return replaced(err.Error(), err) }

func replaced(text string, err error) string {
	if said := words(err); said != "" {
		return strings.ReplaceAll(text, err.Error(), said)
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, inner := range several.Unwrap() {
			text = replaced(text, inner)
		}
	} else if inner := errors.Unwrap(err); inner != nil {
		text = replaced(text, inner)
	}
	return text
}

// words returns what an error itself says; "": it is not of those that are known here.
func words(err error) string {
	switch e := err.(type) { //nolint:errorlint // the caller unwraps it
	case *fs.PathError:
		return ofFile(e.Op, e.Path, e.Err)
	case *os.LinkError:
		return ofFile(e.Op, e.New, e.Err)
	case *exec.Error:
		return ofProgram(e.Name, e.Err)
	case *net.OpError:
		return ofAddress(e)
	case *strconv.NumError:
		return fmt.Sprintf("%q is not a number that fits here", e.Num)
	case *json.SyntaxError:
		return fmt.Sprintf("it is not valid JSON, at byte %d", e.Offset)
	case *json.UnmarshalTypeError:
		return fmt.Sprintf("%s is a %s in this JSON, which does not fit", strconv.Quote(e.Field), e.Value)
	}
	return ""
}

func ofFile(op, path string, err error) string {
	if op == "fork/exec" {
		return ofProgram(path, err)
	}
	code, isCode := errors.AsType[syscall.Errno](err)
	switch {
	case errors.Is(err, fs.ErrNotExist) && op == "mkdir":
		return path + " cannot be made: the directory above it does not exist"
	case errors.Is(err, fs.ErrNotExist):
		return path + " does not exist"
	case errors.Is(err, fs.ErrPermission):
		return path + ": permission denied"
	case code == syscall.EISDIR:
		return path + " is a directory"
	case code == syscall.ENOTDIR:
		return "a part of the path " + path + " is a file, not a directory"
	case code == syscall.ENOSPC || code == syscall.EDQUOT:
		return "there is no room left on the disk of " + path
	case code == syscall.EROFS:
		return path + " is on a file system that cannot be written to"
	case isCode:
		return path + ": " + err.Error()
	}
	return ""
}

func ofProgram(name string, err error) string {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "there is no program " + name + " in PATH"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no program " + name
	case errors.Is(err, fs.ErrPermission):
		return name + " is not a program that you can run"
	case errors.Is(err, syscall.ENOEXEC):
		return name + " is not a program of this kind of machine, nor a script that begins with #!"
	}
	return ""
}

func ofAddress(e *net.OpError) string {
	if unknown, ok := errors.AsType[*net.DNSError](e.Err); ok {
		if unknown.IsNotFound {
			return "there is no host " + unknown.Name
		}
		return "the name " + unknown.Name + " cannot be looked up now"
	}
	if e.Addr == nil {
		return ""
	}
	at := e.Addr.String()
	code, _ := errors.AsType[syscall.Errno](e.Err)
	switch {
	case code == syscall.EADDRINUSE:
		return at + " is in use by another program"
	case code == syscall.EADDRNOTAVAIL && e.Op == "listen":
		return at + " is no address of this machine"
	case code == syscall.EACCES && e.Op == "listen":
		return at + " may be used by root alone"
	case code == syscall.ECONNREFUSED:
		return "nothing answers at " + at + " (connection refused)"
	case code == syscall.ENETUNREACH || code == syscall.EHOSTUNREACH:
		return at + " cannot be reached over the network"
	case e.Timeout():
		return at + " did not answer in time"
	}
	return ""
}
