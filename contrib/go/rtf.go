// Package rtf reserves CPU time and other resources for a Go program, by the files of the spool (rtf-spec(5), rtf-verdict(5)). It needs nothing but Go's
// standard library: no cgo, no librtf.
//
// A Reservation belongs to one goroutine at a time. Times in a Spec are microseconds, or strings with a unit such as "5ms". A reservation is for a thread of
// the kernel: call runtime.LockOSThread before Attach.
package rtf

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// Spec has the keys of rtf-spec(5). The package itself sets token and attach.
type Spec map[string]interface{}

// Grant is what is reserved now. Times are microseconds.
type Grant struct {
	Plugin          string `json:"plugin"`
	Policy          string `json:"policy"`
	CPUs            string `json:"cpus"`
	AcceptedRuntime uint64 `json:"accepted_runtime"`
	Period          uint64 `json:"period"`
}

// Thread is the attached thread. State is "attached" if the kernel schedules the thread as granted.
type Thread struct {
	TID   int    `json:"tid"`
	State string `json:"state"`
}

// Verdict is the broker's answer. Grant is nil if nothing is granted; Thread is nil if there is no thread.
type Verdict struct {
	Token    string   `json:"token"`
	Result   string   `json:"result"`
	Reason   string   `json:"reason"`
	Sentence string   `json:"sentence"`
	Refusal  *Refusal `json:"refusal"`
	Grant    *Grant   `json:"grant"`
	Thread   *Thread  `json:"thread"`
	Ended    string   `json:"ended"`
}

// Refusal is the error for an answer other than OK. Nearest is the largest amount that would be granted; 0: this amount is not known. If the runtime is too
// small, NearestMinimum is the least runtime that would be granted; otherwise it is 0.
type Refusal struct {
	Result         string
	Sentence       string
	Code           string `json:"code"`
	Nearest        uint64 `json:"nearest"`
	NearestMinimum uint64 `json:"nearest_minimum"`
}

func (r *Refusal) Error() string { return r.Sentence }

// These errors come without an answer of the broker.
var (
	ErrNoBroker = errors.New("no broker runs on this spool, or the broker ended before it answered")
	ErrTimeout  = errors.New("no answer within the time allowed")
	ErrGone     = errors.New("the spec was removed, has expired or was revoked")
)

// Spool is the user's own directory in a spool. Any goroutine may use a Spool.
type Spool struct {
	// Timeout limits each wait for an answer; 0: no limit. Open sets 30 s.
	Timeout   time.Duration
	root      string
	directory string
}

// Open makes the user's directory if it is missing. spool "": $RTF_SPOOL, or else /var/spool/rtf.
func Open(spool string) (*Spool, error) {
	if spool == "" {
		spool = os.Getenv("RTF_SPOOL")
	}
	if spool == "" {
		spool = "/var/spool/rtf"
	}
	name := strconv.Itoa(os.Geteuid())
	directory := filepath.Join(spool, "specs", name)
	if _, err := os.Lstat(directory); os.IsNotExist(err) {
		if account, err := user.LookupId(name); err == nil {
			directory = filepath.Join(spool, "specs", account.Username)
		}
	}
	if err := os.Mkdir(directory, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	return &Spool{Timeout: 30 * time.Second, root: spool, directory: directory}, nil
}

// Reservation is one spec of this program.
type Reservation struct {
	spool   *Spool
	name    string
	spec    Spec
	verdict Verdict
}

// Declare asks for a reservation, and waits for the answer. It never replaces a spec of another program. If the broker refuses, the error is a *Refusal, and no
// file stays behind.
func (s *Spool) Declare(name string, spec Spec) (*Reservation, error) {
	r := &Reservation{spool: s, name: name, spec: Spec{}}
	for key, value := range spec {
		r.spec[key] = value
	}
	err := r.ask(r.spec, os.Link)
	if err != nil && r.verdict.Grant == nil && !os.IsExist(err) {
		_ = os.Remove(r.file("json"))
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Attach gives a thread what is reserved, and waits until the thread has it. The thread must not change while the reservation lasts: runtime.LockOSThread.
func (r *Reservation) Attach(tid int) error { return r.change(Spec{"attach": tid}) }

// AttachCaller is Attach for the calling thread.
func (r *Reservation) AttachCaller() error { return r.Attach(syscall.Gettid()) }

// Detach gives the thread its former scheduling back. The reservation stays.
func (r *Reservation) Detach() error { return r.change(Spec{"attach": nil}) }

// Change gives these keys new values; all other keys stay. If the broker refuses, the former reservation stays in force.
func (r *Reservation) Change(keys Spec) error { return r.change(keys) }

func (r *Reservation) change(keys Spec) error {
	spec := Spec{}
	for key, value := range r.spec {
		spec[key] = value
	}
	for key, value := range keys {
		spec[key] = value
	}
	if _, err := os.Lstat(r.file("json")); err != nil {
		return ErrGone
	}
	err := r.ask(spec, os.Rename)
	if err == nil {
		r.spec = spec
	}
	return err
}

// Verdict returns the last answer that a call of this reservation has read.
func (r *Reservation) Verdict() Verdict { return r.verdict }

// Await waits until something happens to the reservation without a call of this program: another program changes or removes the spec, it expires or is revoked,
// the thread ends, or the broker stops. ErrGone: nothing is reserved any more.
func (r *Reservation) Await(timeout time.Duration) (Verdict, error) {
	former, err := os.ReadFile(r.file("verdict"))
	if err != nil {
		return Verdict{}, ErrGone
	}
	var known Verdict
	if json.Unmarshal(former, &known) == nil && (known.Grant == nil) != (r.verdict.Grant == nil) {
		r.verdict = known
		return known, nil
	}
	err = r.wait(timeout, func() bool {
		present, err := os.ReadFile(r.file("verdict"))
		return err != nil || string(present) != string(former)
	})
	if err != nil {
		return Verdict{}, err
	}
	verdict, found := r.read()
	if !found {
		return Verdict{}, ErrGone
	}
	r.verdict = verdict
	return verdict, nil
}

// Release ends the reservation, and waits until the thread has its former scheduling back.
func (r *Reservation) Release() error {
	if err := os.Remove(r.file("json")); err != nil && !os.IsNotExist(err) {
		return err
	}
	return r.wait(r.spool.Timeout, func() bool {
		_, err := os.Lstat(r.file("verdict"))
		return os.IsNotExist(err)
	})
}

func (r *Reservation) file(suffix string) string {
	return filepath.Join(r.spool.directory, r.name+"."+suffix)
}

func (r *Reservation) read() (Verdict, bool) {
	var verdict Verdict
	text, err := os.ReadFile(r.file("verdict"))
	return verdict, err == nil && json.Unmarshal(text, &verdict) == nil
}

// ask writes the spec to a temporary file, and then makes NAME.json of this file in one step. The token tells the answer to this spec from answers to earlier
// specs.
func (r *Reservation) ask(spec Spec, put func(from, to string) error) error {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	token := hex.EncodeToString(random)
	spec["token"] = token
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	aside := filepath.Join(r.spool.directory, "."+r.name+"."+token)
	if err := os.WriteFile(aside, text, 0o600); err != nil {
		return err
	}
	defer os.Remove(aside)
	if err := put(aside, r.file("json")); err != nil {
		return err
	}
	_ = os.Remove(aside)
	err = r.wait(r.spool.Timeout, func() bool {
		verdict, found := r.read()
		if found && (verdict.Token == token || (verdict.Token == "" && verdict.Result == "BAD_SPEC")) && verdict.Result != "WAITING" {
			r.verdict = verdict
			return true
		}
		return false
	})
	if err != nil || r.verdict.Result == "OK" {
		return err
	}
	refusal := Refusal{Result: r.verdict.Result, Sentence: r.verdict.Sentence}
	if r.verdict.Refusal != nil {
		refusal.Code = r.verdict.Refusal.Code
		refusal.Nearest, refusal.NearestMinimum = r.verdict.Refusal.Nearest, r.verdict.Refusal.NearestMinimum
	}
	return &refusal
}

type pollfd struct {
	fd      int32
	events  int16
	revents int16
}

// poll sleeps until a descriptor is ready. Go's own poller does not report that the reader of a FIFO has gone.
func poll(fds []pollfd, until time.Time) (ready bool, err error) {
	var limit *syscall.Timespec
	if !until.IsZero() {
		left := time.Until(until)
		if left < 0 {
			left = 0
		}
		timespec := syscall.NsecToTimespec(left.Nanoseconds())
		limit = &timespec
	}
	count, _, failure := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds[0])), uintptr(len(fds)), uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	if failure == syscall.EINTR {
		return true, nil
	}
	if failure != 0 {
		return false, failure
	}
	return count > 0, nil
}

// wait calls done at once, and after each change of the user's directory, until done returns true. The watch begins before the first call, so no change is
// missed. The pipe `alive` has an error condition as soon as no broker has the pipe open.
func (r *Reservation) wait(timeout time.Duration, done func() bool) error {
	const changes = syscall.IN_MOVED_TO | syscall.IN_DELETE | syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF
	alive, err := syscall.Open(filepath.Join(r.spool.root, "alive"), syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err == syscall.ENXIO || err == syscall.ENOENT {
		return ErrNoBroker
	}
	if err != nil {
		return fmt.Errorf("%s/alive: %w", r.spool.root, err)
	}
	defer syscall.Close(alive)
	events, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("inotify: %w", err)
	}
	defer syscall.Close(events)
	if _, err := syscall.InotifyAddWatch(events, r.spool.directory, changes); err != nil {
		return ErrGone
	}
	var until time.Time
	if timeout > 0 {
		until = time.Now().Add(timeout)
	}
	buffer := make([]byte, 8192)
	for !done() {
		fds := []pollfd{{fd: int32(events), events: 1}, {fd: int32(alive)}}
		ready, err := poll(fds, until)
		if err != nil {
			return err
		}
		if !ready {
			return ErrTimeout
		}
		if fds[1].revents != 0 && !done() {
			return ErrNoBroker
		}
		if _, err := syscall.Read(events, buffer); err != nil && err != syscall.EAGAIN {
			return err
		}
	}
	return nil
}
