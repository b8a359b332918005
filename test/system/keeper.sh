#!/bin/sh
# keeper.sh FOLDER LOWER SHARE: runs a container until it is switched off. Its file system is FOLDER/up over LOWER, kept from one
# start to the next; SHARE is to be seen in it as /packages. Everything that is mounted here goes with this process.
set -eu
folder=$1 lower=$2 share=$3
name=$(basename "$folder")

# In control groups of its own: the systemd inside takes over those it finds itself in. The rest of the machine keeps its own.
awk '{ for (i = 1; i < NF; i++) if ($i == "-" && ($(i + 1) == "cgroup" || $(i + 1) == "cgroup2") && $5 !~ /cpuset/) print $5 }' \
  /proc/self/mountinfo | while read -r group; do
  mkdir -p "$group/$name" && echo $$ >"$group/$name/cgroup.procs" || :
done

mount -t overlay "$name" -o "lowerdir=$lower,upperdir=$folder/up,workdir=$folder/work" "$folder/root"
while :; do
  # The calls that systemd's own device and address filters need.
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=yes systemd-nspawn --quiet --directory="$folder/root" --machine="$name" \
    --register=no --keep-unit --private-network --resolv-conf=off --timezone=off --link-journal=no --console=pipe \
    --capability=CAP_BPF --system-call-filter='bpf keyctl add_key request_key' --bind-ro="$share:/packages" --boot &
  echo $! >"$folder/nspawn"
  code=0
  wait $! || code=$?
  # 133 is a reboot.
  [ "$code" = 133 ] || exit "$code"
done
