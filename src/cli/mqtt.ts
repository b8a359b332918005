import { type Command, InvalidArgumentError } from 'commander';
import { configOption, type Verbs } from './verb.ts';

const defaultDir = '/etc/mosquitto/siteward';

/** The verbs of `siteward mqtt`; each is loaded when it is called. None needs the daemon. */
export function addMqtt(program: Command, { done }: Pick<Verbs, 'done'>): void {
  const mqtt = program.command('mqtt').description('the clients of the site on MQTT, and the mosquitto they meet on');
  const common = (verb: Command): Command =>
    verb.option('--dir <folder>', 'where the files for mosquitto lie', defaultDir).addOption(configOption());
  common(
    mqtt
      .command('provision')
      .description('set up mosquitto for the clients of the configuration: certificate, passwords, rights'),
  )
    .option('--conf <file>', 'its file among those of mosquitto')
    .option('--listen <address>', 'HOST:PORT for the clients, with TLS (default: 0.0.0.0:8883)', address)
    .option('--own <address>', 'HOST:PORT on loopback for siteward itself (default: 127.0.0.1:8884)', address)
    .option('--plain <address>', 'also HOST:PORT without TLS, for panel bridges that know none', address)
    .option('--no-plain', 'no such address any more')
    .option('--user <name>', 'user mosquitto runs as', 'mosquitto')
    .option('--dry-run', 'show what would be written', false)
    .option('--json', 'print one JSON object; passwords only with --with-passwords', false)
    .option('--with-passwords', 'with --json, print new passwords too', false)
    .action(async (options) => done(await (await import('./mqtt-provision.ts')).provision(options)));
  common(mqtt.command('rotate').description('give a client, or siteward itself, a new password and show it once'))
    .argument('<id>', 'id of the client, or siteward')
    .option('--user <name>', 'user mosquitto runs as', 'mosquitto')
    .option('--json', 'print one JSON object with the password', false)
    .action(async (id: string, options) => done(await (await import('./mqtt-rotate.ts')).rotate(id, options)));
  common(mqtt.command('show').description('list the clients, whether they have a password, and the certificate'))
    .option('--json', 'print one JSON object', false)
    .action(async (options) => done(await (await import('./mqtt-show.ts')).show(options)));
}

function address(text: string): string {
  const [, port] = /^(?:\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new InvalidArgumentError('It must be HOST:PORT, such as 0.0.0.0:8883.');
  return text;
}
