// Runs in the sandbox of the unit and tries what it must and must not be able to do; prints one JSON object.
import { execFileSync, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

const tried = (work) => {
  try {
    const value = work();
    return value === undefined ? 'yes' : value;
  } catch (error) {
    return error.code ?? error.message;
  }
};
const write = (path) => tried(() => writeFileSync(path, 'x'));
const call = (number, ...args) =>
  tried(() => {
    const script = `my $r = syscall(${[number, ...args].join(', ')}); print $r == -1 ? $!{EPERM} ? 'EPERM' : $!{ENOSYS} ? 'ENOSYS' : "other $!" : 'yes'`;
    return execFileSync('perl', ['-MErrno', '-e', script], { encoding: 'utf8' });
  });
const runsFrom = (folder) =>
  tried(() => {
    copyFileSync('/bin/true', `${folder}/true`);
    spawnSync('chmod', ['755', `${folder}/true`]);
    execFileSync(`${folder}/true`);
  });
const multicast = () =>
  new Promise((resolve) => {
    const socket = createSocket({ type: 'udp4', reuseAddr: true });
    socket.on('error', (error) => resolve(error.code));
    socket.bind(0, '0.0.0.0', () => {
      const said = tried(() => socket.addMembership('239.255.255.250', '127.0.0.1'));
      socket.close(() => resolve(said));
    });
  });

const found = {
  write: Object.fromEntries(
    [
      '/etc/passwd',
      '/etc/probe',
      '/usr/probe',
      '/usr/lib/siteward/app/cli.js',
      '/var/lib/probe',
      '/var/log/probe',
      '/var/backups/siteward/probe',
      '/home/probe',
      '/root/probe',
      '/boot/probe',
      '/proc/sys/kernel/panic',
      '/sys/kernel/profiling',
      '/run/probe',
      '/etc/siteward/probe',
      '/var/lib/siteward/probe',
      '/run/siteward/probe',
      '/tmp/probe',
    ].map((path) => [path, write(path)]),
  ),
  readHome: tried(() => readFileSync('/home/anna/letter', 'utf8')),
  seeHome: tried(() => readdirSync('/home').join()),
  readRoot: tried(() => readFileSync('/root/letter', 'utf8')),
  readShadow: tried(() => readFileSync('/etc/shadow', 'utf8')),
  readKey: tried(() => readFileSync('/etc/siteward/secrets/event-key', 'utf8')),
  credential: tried(() => readFileSync(`${process.env.CREDENTIALS_DIRECTORY}/event-key`, 'utf8').slice(0, 10)),
  processes: readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length,
  // init_module, finit_module, mount, reboot, ptrace, settimeofday, unshare of a name space, bpf, setuid
  calls: {
    init_module: call(175, 0, 0, 0),
    finit_module: call(313, 0, 0, 0),
    mount: call(165, 0, 0, 0, 0, 0),
    reboot: call(169, 0, 0, 0, 0),
    ptrace: call(101, 16, 1, 0, 0),
    settimeofday: call(164, 0, 0),
    unshare: call(272, 0x10000000),
    bpf: call(321, 0, 0, 0),
    kexec_load: call(246, 0, 0, 0, 0),
  },
  runsFrom: { state: runsFrom('/var/lib/siteward'), config: runsFrom('/etc/siteward'), tmp: runsFrom('/tmp') },
  devices: readdirSync('/dev').filter((name) => /^(sd|vd|nvme|mem|kmsg|loop)/.test(name)),
  openDisk: tried(() => readFileSync('/dev/probe-disk')),
  interfaces: tried(() => Object.keys(networkInterfaces()).join()),
  multicast: await multicast(),
  child: tried(() => execFileSync('sh', ['-c', 'echo done'], { encoding: 'utf8' }).trim()),
  ffmpeg: tried(() =>
    execFileSync('ffmpeg', [
      '-v',
      'error',
      '-f',
      'lavfi',
      '-i',
      'testsrc=d=1',
      '-f',
      'mp4',
      '-y',
      '/var/lib/siteward/probe.mp4',
    ]).toString(),
  ),
  cards: tried(() => execFileSync('aplay', ['-D', 'null', '-q', '-f', 'S16_LE', '-d', '1', '/dev/zero']).toString()),
  sound: tried(() =>
    execFileSync('paplay', ['--server=tcp:127.0.0.1:4713', '--raw', '/var/lib/siteward/probe.mp4'], {
      timeout: 20_000,
    }).toString(),
  ),
  bootId: tried(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').length),
  webAssembly: tried(() => typeof new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))),
};
console.log(`probe ${JSON.stringify(found)}`);
