import { type Command, InvalidArgumentError } from 'commander';
import { isTimezone } from '#lib/timezone.ts';
import { whole } from '../arguments.ts';
import { changing, permanent, reading as read } from '../cloud/options.ts';
import { wrong } from '../usage.ts';
import { collect, type Verbs } from '../verb.ts';

/** The verbs of the site in the cloud, of its contacts, of stations and of the dealer; what they do is loaded when one is called. */
export function addSite(program: Command, shared: Verbs): void {
  const { done, socket } = shared;
  const change = (verb: Command) => changing(verb, socket);
  const site = program.command('site').description('the site in the cloud: show, change, activate, link, delete');
  kept(read(site.command('show').description('show the site as the cloud has it')), shared).action(async (options) =>
    done(await (await import('./show.ts')).site(options)),
  );
  read(site.command('list').description('list the sites of the dealer'))
    .option('--filter <column,value,operator>', 'such as name,shop,regex; several must all hold', collect, [])
    .option('--limit <count>', 'how many, 1 to 10000', whole(1, 10_000), 100)
    .action(async (options) => done(await (await import('./show.ts')).sites(options)));
  members(
    change(site.command('create').description('create a site for this box; it starts inactive'))
      .requiredOption('--external-id <id>', 'your own id of the site')
      .requiredOption('--name <name>', 'how it is called')
      .requiredOption('--timezone <zone>', 'such as Europe/Berlin', zone),
  ).action(async (options) => done(await (await import('./change.ts')).create(options)));
  members(
    change(site.command('set').description('change what the cloud says of the site; what is not given stays'))
      .option('--name <name>', 'how it is called')
      .option('--timezone <zone>', 'such as Europe/Berlin', zone),
  ).action(async (options, command: Command) => {
    const { membersOf, set } = await import('./change.ts');
    if (Object.keys(membersOf(options)).length === 0) wrong(command, 'say what to change, such as --name');
    done(await set(options));
  });
  for (const active of [true, false])
    change(
      site
        .command(active ? 'activate' : 'deactivate')
        .description(
          active ? 'have its alarms seen' : 'have nobody look at its alarms; it is protected here as before',
        ),
    ).action(async (options) => done(await (await import('./change.ts')).activation({ ...options, active })));
  change(site.command('link').description('link the site to the platform')).action(async (options) =>
    done(await (await import('./change.ts')).link({ ...options, linked: true })),
  );
  permanent(change(site.command('unlink').description('unlink the site from the platform; asks for its name'))).action(
    async (options) => done(await (await import('./change.ts')).link({ ...options, linked: false })),
  );
  change(
    site.command('bind-monitoring').description('say which monitoring station gets its alarms, and as which account'),
  )
    .option('--station <id>', 'id of the station, or none', station)
    .option('--account <number>', 'account number of the site at the station')
    .option('--body <file>', 'JSON file with the members as your service wants them, instead; - is standard input')
    .action(async (options, command: Command) => {
      const isGiven = options.station !== undefined || options.account !== undefined;
      if (isGiven === (options.body !== undefined))
        wrong(command, 'give --station, --account or both, or --body alone');
      done(await (await import('./change.ts')).bind(options));
    });
  permanent(change(site.command('delete').description('delete the site in the cloud, for good; asks for its name')))
    .option('--force', 'also while a partition is armed or events wait', false)
    .action(async (options) => done(await (await import('./change.ts')).remove(options)));
  addContact(program, shared);
  addOthers(program, shared);
}

function addContact(program: Command, shared: Verbs): void {
  const { done, socket } = shared;
  const change = (verb: Command) => changing(verb, socket);
  const contact = program.command('contact').description('people the station calls about this site');
  kept(read(contact.command('list').description('list the contacts')), shared).action(async (options) =>
    done(await (await import('./show.ts')).contacts(options)),
  );
  change(contact.command('add').description('add a contact'))
    .requiredOption('--external-id <id>', 'your own id of the contact')
    .requiredOption('--first-name <name>', 'first name')
    .requiredOption('--last-name <name>', 'last name')
    .option('--phone <number>', 'telephone number')
    .option('--email <address>', 'e-mail address')
    .action(async (options) => done(await (await import('./contact-change.ts')).add(options)));
  change(contact.command('set').description('change a contact; what is not given stays').argument('<id>', 'its id'))
    .option('--external-id <id>', 'your own id of the contact')
    .option('--first-name <name>', 'first name')
    .option('--last-name <name>', 'last name')
    .option('--phone <number>', 'telephone number')
    .option('--email <address>', 'e-mail address')
    .action(async (id, options, command: Command) => {
      const { membersOf, set } = await import('./contact-change.ts');
      if (Object.keys(membersOf(options)).length === 0) wrong(command, 'say what to change, such as --phone');
      done(await set({ ...options, id }));
    });
  permanent(
    change(
      contact
        .command('delete')
        .description('delete a contact, for good; asks for the name of the site')
        .argument('<id>', 'its id'),
    ),
  ).action(async (id, options) => done(await (await import('./contact-change.ts')).remove({ ...options, id })));
}

function addOthers(program: Command, shared: Verbs): void {
  const { done, socket } = shared;
  const change = (verb: Command) => changing(verb, socket);
  const stations = program.command('station').description('monitoring stations of the dealer');
  kept(read(stations.command('list').description('list the monitoring stations')), shared).action(async (options) =>
    done(await (await import('./show.ts')).stations(options)),
  );
  read(stations.command('show').description('show one monitoring station').argument('<id>', 'its id')).action(
    async (id, options) => done(await (await import('./show.ts')).station({ ...options, id })),
  );
  const dealer = program.command('dealer').description('the dealer this site belongs to');
  read(dealer.command('show').description('show the dealer as the cloud has it')).action(async (options) =>
    done(await (await import('./show.ts')).dealer(options)),
  );
  const arming = program.command('arming').description('who decides the arming, as the cloud says');
  change(
    arming
      .command('source')
      .description('show which security system handles the site, or have the cloud say another one')
      .argument('[type]', '1 or 2 a panel, 3 siteward, 4 another system', type),
  ).action(async (given, options) =>
    done(
      await (await import('./arming-source.ts')).source({ ...options, ...(given !== undefined && { type: given }) }),
    ),
  );
}

const kept = (verb: Command, { socket }: Verbs): Command =>
  verb.option('--kept', 'what this box has kept, without asking the cloud', false).addOption(socket());

const members = (verb: Command): Command =>
  verb
    .option('--account-number <number>', 'account number at the monitoring station')
    .option('--station <id>', 'id of the monitoring station, or none', station)
    .option('--address1 <text>', 'address')
    .option('--address2 <text>', 'its second line');

function station(text: string): number | null {
  if (text === 'none') return null;
  const id = Number(text);
  if (!Number.isSafeInteger(id) || id < 1) throw new InvalidArgumentError('It must be a number, or none.');
  return id;
}

/** The cloud takes any text; a wrong one would be found by nobody until a schedule is an hour late. */
function zone(text: string): string {
  if (!isTimezone(text)) throw new InvalidArgumentError('It must be an IANA name such as Europe/Berlin.');
  return text;
}

function type(text: string): number {
  if (!/^[1-4]$/.test(text)) throw new InvalidArgumentError('It must be 1, 2, 3 or 4.');
  return Number(text);
}
