#!/usr/bin/env bash
# A throw-away PostgreSQL cluster on loopback, for tests and demonstrations: it
# trusts everybody on this machine and may lose what it was told when the power
# fails. Its superuser is postgres:
#
#   scripts/postgres.sh start DIR PORT    make it in DIR if it is not there, and start it
#   scripts/postgres.sh stop DIR          stop it; DIR stays
#   scripts/postgres.sh run DIR PORT      as start, in the foreground; ends with its parent
#
#   DATABASE_URL=postgresql://postgres@127.0.0.1:PORT/postgres
#
# PostgreSQL refuses to run as root: then the user postgres runs it, who must be
# able to reach DIR.
set -euo pipefail

usage() { sed -n '2,/^set/p' "$0" | sed -n 's/^# \{0,1\}//p' >&2; exit 2; }

verb=${1-} dir=${2-} port=${3-}
case $verb in
start | run) [[ -n $dir && $port =~ ^[0-9]+$ ]] || usage ;;
stop) [[ -n $dir ]] || usage ;;
*) usage ;;
esac

# Debian keeps the programs out of PATH, in a folder for each version.
bin=$(dirname "$(command -v initdb || find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)")
[[ -x $bin/postgres ]] || { echo "postgres.sh: PostgreSQL is not installed; scripts/peers-install.sh installs it" >&2; exit 1; }

# as_owner runs a program as somebody who is not root. The signal that comes with
# the parent's death survives the change of user only if it is asked to.
as_owner=()
if [[ $(id -u) == 0 ]]; then
	as_owner=(setpriv --reuid postgres --regid postgres --clear-groups --pdeathsig keep --)
fi

prepare() {
	mkdir -p "$dir"
	[[ -s $dir/data/PG_VERSION ]] && return
	[[ ${#as_owner[@]} == 0 ]] || chown postgres "$dir"
	"${as_owner[@]}" "$bin/initdb" -D "$dir/data" -U postgres --auth=trust --no-sync \
		--encoding=UTF8 --locale=C >"$dir/initdb.log" || { cat "$dir/initdb.log" >&2; exit 1; }
}

cd / # the owner may not be able to look into the working directory
[[ $dir == /* ]] || dir=$OLDPWD/$dir
options=(-c listen_addresses=127.0.0.1 -c "port=$port" -c unix_socket_directories= -c max_connections=200
	-c fsync=off -c synchronous_commit=off -c full_page_writes=off)

case $verb in
start)
	prepare
	"${as_owner[@]}" "$bin/pg_ctl" -D "$dir/data" status >/dev/null && exit
	"${as_owner[@]}" "$bin/pg_ctl" -D "$dir/data" -l "$dir/postgres.log" -o "${options[*]}" -w start >/dev/null
	;;
run)
	prepare
	exec "${as_owner[@]}" "$bin/postgres" -D "$dir/data" "${options[@]}"
	;;
stop)
	"${as_owner[@]}" "$bin/pg_ctl" -D "$dir/data" status >/dev/null || exit 0
	"${as_owner[@]}" "$bin/pg_ctl" -D "$dir/data" -m fast -w stop >/dev/null
	;;
esac
