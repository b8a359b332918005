import type { Command } from 'commander';
import { changing, permanent } from '../cloud/options.ts';
import { wrong } from '../usage.ts';
import { configOption, type Verbs } from '../verb.ts';

/** The verbs of `siteward device` and `siteward nvr`; each is loaded when it is called. */
export function addDevice(program: Command, verbs: Verbs): void {
  const device = program
    .command('device')
    .description('see and tell what the cloud knows of this bridge, its cameras and recorders');
  addReconciling(device, verbs);
  addRows(device, verbs);
}

export function addNvr(program: Command, { socket, done }: Verbs): void {
  const nvr = program.command('nvr').description('see and tell what the cloud knows of the recorders of the site');
  nvr
    .command('list')
    .description('list the recorders of the site with their ids in the cloud')
    .option('--json', 'print one JSON object per line', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./device-sync.ts')).listNvrs(options)));
  syncing(nvr.command('sync').description('tell the cloud now of the recorders, and of the devices with them'))
    .addOption(socket())
    .action(async (options) => done(await (await import('./device-sync.ts')).sync({ ...options, only: 'nvrs' })));
}

const syncing = (verb: Command): Command =>
  verb
    .option('--dry-run', 'only say what would be done', false)
    .option('--again', 'also try again what the cloud refused', false)
    .option('--register-lost', 'also register recorders again whose registration was answered into nothing', false)
    .option('--json', 'print one JSON object', false);

function addReconciling(device: Command, { socket, done }: Verbs): void {
  device
    .command('plan')
    .description('compare the site with the cloud and say what would be told; nothing is written')
    .option('--json', 'print the plan', false)
    .addOption(socket())
    .action(async (options) => done(await (await import('./device-sync.ts')).plan(options)));
  syncing(device.command('sync').description('tell the cloud now of this bridge, its cameras and recorders'))
    .addOption(socket())
    .action(async (options) => done(await (await import('./device-sync.ts')).sync(options)));
}

/** What the cloud has, whoever registered it; by the credentials of the configuration, with or without a daemon. */
function addRows(device: Command, { socket, done }: Verbs): void {
  device
    .command('list')
    .description('list the devices the cloud has of the site, and those of this bridge that are held')
    .option('--json', 'print one JSON object per line', false)
    .addOption(configOption())
    .addOption(socket())
    .action(async (options) => done(await (await import('./device-rows.ts')).list(options)));
  device
    .command('show')
    .description('show one device of the cloud')
    .argument('<id>', 'its external id, or its id in the cloud')
    .option('--json', 'print one JSON object', false)
    .addOption(configOption())
    .action(async (id: string, options) => done(await (await import('./device-rows.ts')).show(id, options)));
  changing(
    device
      .command('set')
      .description('change a device in the cloud; what the configuration of this site says of its own is changed there')
      .argument('<id>', 'its external id, or its id in the cloud')
      .option('--name <name>', 'what people call it')
      .option('--zone <number>', 'its zone number')
      .option('--more-zones <numbers>', 'further zone numbers, as 7,8; empty for none')
      .option('--mac <mac>', 'its MAC address')
      .option('--manufacturer <name>', 'who made it')
      .option('--model <name>', 'its model')
      .option('--serial-number <number>', 'its serial number'),
    socket,
  ).action(async (id: string, options, command: Command) => {
    const change = await import('./device-change.ts');
    const members = change.membersOf(options);
    if (Object.keys(members).length === 0) wrong(command, 'say what to change, such as --name');
    done(await change.set(id, members, options));
  });
  permanent(
    changing(
      device
        .command('delete')
        .description('delete devices in the cloud, for good; none that this site has; asks for the name of the site')
        .argument('<ids...>', 'their external ids, or their ids in the cloud'),
      socket,
    ),
  ).action(async (ids: readonly string[], options) =>
    done(await (await import('./device-change.ts')).remove([...new Set(ids)], options)),
  );
}
