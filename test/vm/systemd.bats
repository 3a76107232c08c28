# rtf under a running systemd: README's first session, units that need rtf, units of a user, packages. These tests change the whole system, so they run
# in the virtual machines of test/vm/check, with /checkout as test/vm/check lays it out.

bats_require_minimum_version 1.5.0
load ../helper
HERE=/checkout

setup_file() { [ "$(cat /proc/1/comm)" = systemd ] && [ -d "$HERE/packages.old" ]; }

# Whatever ran before, a test begins with a broker and without reservations.
setup() {
    WORK=$(mktemp -d /tmp/rtf-systemd.XXXXXX)
    chmod 755 "$WORK"
}

teardown() {
    [ -n "${BATS_TEST_COMPLETED:-}" ] || { systemctl status --no-pager rtf camera 2>&1 | tail -n 40; tail -n 5 /var/spool/rtf/log/events.ndjson; } >&2
    if [ -e /etc/systemd/system/camera.service ]; then
        systemctl stop camera
        rm /etc/systemd/system/camera.service
    fi
    systemctl daemon-reload
    rm -rf "$WORK"
}

main_of() { systemctl show --property MainPID --value "$1"; }
is_active() { [ "$(systemctl is-active "$1")" = active ]; }
is_another() { is_active rtf && [ "$(main_of rtf)" != 0 ] && [ "$(main_of rtf)" != "$1" ]; } # is_another PID: the broker's process is not PID, which was an earlier broker.
has_ended() { [ ! -e "/proc/$1" ]; }
as_ann() { setpriv --reuid ann --regid ann --init-groups -- env -C /home/ann HOME=/home/ann USER=ann "$@"; }

# An emulated machine is sometimes so slow that a plugin does not answer in time, and the broker starts the plugin again.
is_served() { as_ann rtf-run -T 10ms -P 100ms -- chrt -p 0 | grep -q SCHED_DEADLINE; }

# typed USER: runs the lines on standard input in a shell of the user. The first error ends the shell.
typed() {
    cat >"$WORK/script"
    case $1 in
    root) sh -eu "$WORK/script" ;;
    *) as_ann sh -eu "$WORK/script" ;;
    esac </dev/null >"$WORK/out" 2>&1 || { cat "$WORK/script" "$WORK/out" >&2; return 1; }
}
first_session() { awk '/^## / { inside = $0 == "## A first session" } inside && /^    /' "$HERE/README.md" | sed -e 's/^ *//' -e 's/  *#.*//'; }

@test "README's first session, as it is printed" {
    useradd --create-home ann
    [ "$(first_session | head -n 4 | grep -c '^systemctl\|^systemd-\|^usermod\|^make')" -eq 4 ]
    # Without the first command: test/vm/check has installed the files that make would install.
    first_session | sed -n '2,4s/USER/ann/; 2,4p' | typed root
    is_active rtf
    [ "$(systemctl is-enabled rtf)" = enabled ]
    # The lines for a machine without systemd come in between.
    first_session | sed -n '/^mkdir /,$p' | head -n 9 | sed 's/^jq .*/chrt -p $$; &/; s/^rtf-wait cam | .*/&; chrt -p $$/; s/^rm cam.json$/until chrt -p $$ | grep SCHED_OTHER; do sleep 0.1; done; &/' | typed ann
    grep -q '"result":"OK"' "$WORK/out"
    grep -q '"runtime": 10000' "$WORK/out"
    [ "$(grep -o 'policy: SCHED_[A-Z]*' "$WORK/out" | tr '\n' ' ')" = 'policy: SCHED_OTHER policy: SCHED_DEADLINE policy: SCHED_OTHER ' ]
    printf '#!/bin/sh\nchrt -p $$\n' >/home/ann/camera
    chmod 755 /home/ann/camera
    first_session | tail -n 1 | typed ann
    grep -q 'policy: SCHED_DEADLINE' "$WORK/out"
}

# The id of the program that rtf-run has started.
program_of_camera() { pgrep -u camera -x sleep; }

# camera: installs contrib/examples/camera.service unchanged, and a program that reports that it is ready, and waits.
camera() {
    getent passwd camera >/dev/null || useradd --system --groups rtf camera
    printf '#!/bin/sh\nsystemd-notify --ready\nexec sleep infinity\n' >/usr/local/bin/camera
    chmod 755 /usr/local/bin/camera
    cp "$HERE/contrib/examples/camera.service" /etc/systemd/system
    systemctl daemon-reload
}

@test "a unit that is ordered after rtf.service starts rtf.service, and is real-time when the unit is ready" {
    systemctl stop rtf
    camera
    systemctl start camera
    is_active rtf
    is_active camera
    program=$(program_of_camera)
    is_policy "$program" deadline
    systemctl stop camera
    has_ended "$program"
    eventually test ! -e /var/spool/rtf/specs/camera/camera.json
}

@test "a restart of the broker changes nothing for a unit; a stop makes the unit ordinary, the next start real-time again" {
    camera
    systemctl start camera
    program=$(program_of_camera)
    systemctl restart rtf
    is_policy "$program" deadline
    systemctl stop rtf
    is_policy "$program" other
    is_active camera
    systemctl start rtf
    eventually is_policy "$program" deadline
    [ "$(program_of_camera)" = "$program" ]
}

@test "a broker that is killed is started again, and the grant stays" {
    camera
    systemctl start camera
    program=$(program_of_camera) before=$(main_of rtf)
    kill -KILL "$before"
    eventually is_another "$before"
    is_policy "$program" deadline
    eventually is_served
}

@test "a broker that hangs is ended by systemd's watchdog, and started again" {
    mkdir -p /run/systemd/system/rtf.service.d
    printf '[Service]\nWatchdogSec=%ds\n' "$((4 * PATIENCE))" >/run/systemd/system/rtf.service.d/watchdog.conf
    systemctl daemon-reload
    systemctl restart rtf
    before=$(main_of rtf)
    kill -STOP "$before"
    eventually is_another "$before"
    rm -r /run/systemd/system/rtf.service.d
    systemctl daemon-reload
    systemctl restart rtf
    eventually is_served
}

is_refused() { ! as_ann rtf-run -T 10ms -P 100ms -- true 2>/dev/null; }

@test "a reload takes new rules; a wrong file causes a message and changes nothing" {
    cp /etc/rtf/acl.conf "$WORK/acl.conf"
    sed -i 's/^\(@rtf .* max_runtime *\) 20ms/\1 5ms/' /etc/rtf/acl.conf
    systemctl reload rtf
    eventually is_refused
    echo 'nonsense' >/etc/rtf/acl.conf
    systemctl reload rtf || true
    is_active rtf
    cp "$WORK/acl.conf" /etc/rtf/acl.conf
    systemctl reload rtf
    eventually is_served
}

user_systemctl() { as_ann env XDG_RUNTIME_DIR="/run/user/$(id -u ann)" systemctl --user "$@"; }

@test "a unit of a user's own systemd" {
    systemctl start "user@$(id -u ann)"
    as_ann mkdir -p .config/systemd/user
    printf '[Service]\nType=exec\nExecStart=/usr/bin/rtf-run --name loop --replace -T 5ms -P 50ms -- sleep infinity\n' | as_ann tee .config/systemd/user/loop.service >/dev/null
    user_systemctl daemon-reload
    user_systemctl start loop
    program=$(user_systemctl show --property MainPID --value loop)
    eventually is_policy "$program" deadline
    [ "$(ps -o comm= -p "$program")" = sleep ]
    user_systemctl stop loop
    has_ended "$program"
    eventually test ! -e /var/spool/rtf/specs/ann/loop.json
    systemctl stop "user@$(id -u ann)"
}

sleeps() { is_policy "$(pgrep -u ann -x sleep)" deadline; }

# This test is the last one, because it replaces the tests' files by the files of the packages, and purges the packages.
@test "packages: installed, renewed while a thread is attached, purged" {
    systemctl disable --now rtf
    export DEBIAN_FRONTEND=noninteractive
    dpkg --install --force-overwrite "$HERE"/packages.old/*.deb >"$WORK/dpkg" 2>&1 || { tail "$WORK/dpkg" >&2; false; }
    is_active rtf
    eventually is_served
    as_ann rtf-run --name lasting -T 10ms -P 100ms -- sleep infinity 3>&- &
    eventually sleeps
    sleeper=$(pgrep -u ann -x sleep)
    before=$(main_of rtf)
    dpkg --install --force-overwrite "$HERE"/packages.new/*.deb >"$WORK/dpkg" 2>&1 || { tail "$WORK/dpkg" >&2; false; }
    is_active rtf
    [ "$(main_of rtf)" != "$before" ]
    is_policy "$sleeper" deadline
    as_ann rtf show lasting | grep -q '^granted'
    kill "$sleeper"
    eventually test ! -e /var/spool/rtf/specs/ann/lasting.json
    dpkg --purge rtf-rtkit rtf-doc python3-rtf librtf-dev librtf0 rtf >"$WORK/dpkg" 2>&1 || { tail "$WORK/dpkg" >&2; false; }
    run -1 systemctl cat rtf
    [ ! -e /usr/sbin/rtf-brokerd ]
    [ ! -e /var/spool/rtf ]
    run -2 getent group rtf
    run -1 pgrep -f /usr/libexec/rtf/
}
