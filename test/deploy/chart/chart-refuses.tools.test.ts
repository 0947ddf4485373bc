import { describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { CHART } from '../../support/generated/chart-readme.ts';
import { readFile } from '../../support/generated/files.ts';
import { helmTemplate, helmTemplateOf, valuesFile } from './render.ts';

const helm = inject('helm');
const FILE = [
  'subscriptionsAsCode.enabled=true',
  'subscriptionsAsCode.content.subscriptions.eu.events={payment_status}',
];
const LOGIN = 'https://login.example.org/token';
const CONSOLE = [
  'console.enabled=true',
  'console.userHeader=X-User',
  'console.roles={payments=view}',
  'console.trustedProxies={10.0.0.0/8}',
];

type Wrong = [what: string, sets: string[], named: RegExp];

/** Wrong values over the minimal ones, and what the refusal has to name. */
const WRONG: Wrong[] = [
  ['a value that there is not', ['ingres.replicas=3'], /'ingres' not allowed/],
  [
    'a setting that there is not',
    ['ingress.settings.MAX_BODY=1'],
    /'\/ingress\/settings'.*'MAX_BODY' not allowed/,
  ],
  ['a setting of the other process', ['control.settings.MAX_BODY_BYTES=1'], /'MAX_BODY_BYTES' not allowed/],
  [
    'a setting that the chart makes itself',
    ['ingress.settings.KAFKA_BROKERS=a:1'],
    /'KAFKA_BROKERS' not allowed/,
  ],
  [
    'an annotation that is a number, which Kubernetes would refuse in the middle of an upgrade',
    ['ingress.podAnnotations.port=9464'],
    /'\/ingress\/podAnnotations\/port': got number, want string/,
  ],
  [
    'a label that YAML made a boolean',
    ['ingress.nodeSelector.payments=true'],
    /'\/ingress\/nodeSelector\/payments': got boolean, want string/,
  ],
  [
    'a ref twice',
    [
      'subscriptions[0].ref=eu',
      'subscriptions[0].secret=a',
      'subscriptions[1].ref=eu',
      'subscriptions[1].secret=b',
    ],
    /subscriptions has the ref eu twice/,
  ],
  ['a name of digits', ['fullnameOverride="123"'], /'\/fullnameOverride'/],
  [
    'a name that is none in Kubernetes',
    ['nameOverride=Hookline_EU'],
    /'\/nameOverride': 'Hookline_EU' does not match/,
  ],
  [
    'an IPv6 broker without brackets',
    ['kafka.brokers={2001:db8::1:9092}'],
    /'\/kafka\/brokers\/0': '2001:db8::1:9092' does not match/,
  ],
  [
    'a family that is none',
    ['ingress.service.ipFamilies={ipv6}'],
    /'\/ingress\/service\/ipFamilies\/0': value must be one of/,
  ],
  [
    'a folder in place of a Secret that becomes a variable',
    ['proxy.httpsSecret=/mnt/secrets'],
    /'\/proxy\/httpsSecret': '\/mnt\/secrets' does not match/,
  ],
  [
    'a folder that is no absolute path',
    ['sealingKey.secret=mnt/secrets'],
    /'\/sealingKey\/secret': 'mnt\/secrets' does not match/,
  ],
  ['no sealing key', ['sealingKey.secret='], /'\/sealingKey\/secret': minLength/],
  [
    'subscriptions twice',
    ['subscriptionsDir=/mnt/subscriptions', 'subscriptions[0].ref=eu', 'subscriptions[0].secret=eu'],
    /subscriptionsDir takes the place of subscriptions and of verify\.secret: leave these empty/,
  ],
  [
    "a Secret of probes beside a folder of all subscriptions' keys",
    ['subscriptionsDir=/mnt/subscriptions', 'verify.enabled=true', 'verify.secret=probe'],
    /subscriptionsDir takes the place of subscriptions and of verify\.secret: leave these empty/,
  ],
  ...[
    ...['/etc/hookline/tls', '/etc/hookline', '/etc//hookline', '/etc/./hookline', '/mnt/../etc/hookline'],
    ...['/', '/etc', '/etc/', '/var/lib', '/var/lib/hookline/spool', '/app/src'],
  ].map(
    (path): Wrong => [
      `a volume at ${path}`,
      ['ingress.extraVolumeMounts[0].name=x', `ingress.extraVolumeMounts[0].mountPath=${path}`],
      /ingress\.extraVolumeMounts has \/.*, where the chart and the image have their own files: mount it elsewhere/,
    ],
  ),
  ...['tls', 'spool', 'index', 'spool-drain'].map(
    (name): Wrong => [
      `a second volume ${name}`,
      [`ingress.extraVolumes[0].name=${name}`],
      new RegExp(
        `ingress\\.extraVolumes has ${name}, the name of a volume of the chart: give it another one`,
      ),
    ],
  ),
  ...['a.b', 'a'.repeat(64)].map(
    (name): Wrong => [
      `a volume whose name Kubernetes refuses, ${name}`,
      [`jobs.extraVolumes[0].name=${name}`],
      /'\/jobs\/extraVolumes\/0\/name': '[a.b]+' does not match/,
    ],
  ),
  [
    'two volumes of one name',
    ['control.extraVolumes[0].name=x', 'control.extraVolumes[1].name=x'],
    /control\.extraVolumes has x twice/,
  ],
  [
    'two volumes at one place',
    [
      ...['ingress.extraVolumeMounts[0].name=x', 'ingress.extraVolumeMounts[0].mountPath=/mnt/x'],
      ...['ingress.extraVolumeMounts[1].name=y', 'ingress.extraVolumeMounts[1].mountPath=/mnt/x/'],
    ],
    /ingress\.extraVolumeMounts has \/mnt\/x twice/,
  ],
  ['a broker without a port', ['kafka.brokers={kafka}'], /'\/kafka\/brokers\/0': 'kafka' does not match/],
  [
    'a spool that its volume has no place for',
    ['ingress.spool.enabled=true', 'ingress.spool.size=1Gi', 'ingress.spool.maxBytes=1073741824'],
    /ingress\.spool\.maxBytes is 1073741824: give at most 1006632960, 64 MiB less than ingress\.spool\.size \(1Gi\)/,
  ],
  [
    'a console whose index its volume has no place for',
    [...CONSOLE, 'console.indexSize=256Mi'],
    /CONSOLE_INDEX_MAX_BYTES is 536870912: give at most 201326592, 64 MiB less than console\.indexSize \(256Mi\)/,
  ],
  [
    'an index that is larger than its volume',
    [...CONSOLE, 'console.settings.CONSOLE_INDEX_MAX_BYTES=1073741824'],
    /CONSOLE_INDEX_MAX_BYTES is 1073741824: give at most 1006632960, 64 MiB less than console\.indexSize \(1Gi\)/,
  ],
  ...['ingress', 'control', 'console'].map(
    (process): Wrong => [
      `a label of ${process} that its pods have already`,
      [...CONSOLE, `${process}.podLabels.app\\.kubernetes\\.io/component=api`],
      new RegExp(`${process}\\.podLabels has app\\.kubernetes\\.io/component, which the chart sets itself`),
    ],
  ),
  [
    'a label of jobs that their pods have already',
    ['jobs.podLabels.app\\.kubernetes\\.io/component=api'],
    /jobs\.podLabels has app\.kubernetes\.io\/component, which the chart sets itself/,
  ],
  [
    'an annotation that makes a test another hook',
    ['jobs.podAnnotations.helm\\.sh/hook=pre-install'],
    /jobs\.podAnnotations has helm\.sh\/hook, which the chart sets itself/,
  ],
  [
    'a label of a dashboard that it has already',
    ['metrics.dashboard.labels.helm\\.sh/chart=x'],
    /metrics\.dashboard\.labels has helm\.sh\/chart, which the chart sets itself: leave it out/,
  ],
  [
    'a time to stop that the process does not take',
    ['ingress.settings.STOP_DEADLINE_MS=2.5e4'],
    /STOP_DEADLINE_MS is "2\.5e4": give a whole number of milliseconds/,
  ],
  ['no broker', ['kafka.brokers=null'], /kafka/],
  ['a public address without a scheme', ['publicUrl=hooks.example.org'], /'\/publicUrl'/],
  [
    'a path before what expose leads to ingress',
    [
      'publicUrl=https://hooks.example.org/payments/',
      'expose.ingress.enabled=true',
      'expose.ingress.host=hooks.example.org',
    ],
    /publicUrl has the path \/payments\/, and expose\.ingress leads only \/webhooks\//,
  ],
  [
    'the same behind a gateway that takes all names of a domain',
    [
      'publicUrl=https://Hooks.example.org/payments',
      'expose.gateway.enabled=true',
      'expose.gateway.host=*.example.ORG',
    ],
    /expose\.gateway leads only \/webhooks\//,
  ],
  ['a SASL mechanism that there is not', ['kafka.sasl.mechanism=GSSAPI'], /'\/kafka\/sasl\/mechanism'/],
  [
    'SASL without a user',
    ['kafka.sasl.mechanism=PLAIN'],
    /kafka\.credentials\.\w+\.(username|passwordSecret) is needed/,
  ],
  [
    'OAUTHBEARER without tokens',
    ['kafka.sasl.mechanism=OAUTHBEARER'],
    /needs one of kafka\.sasl\.oauth\.tokenUrl and kafka\.sasl\.serviceAccountToken\.audience/,
  ],
  [
    'tokens of two kinds',
    [
      'kafka.sasl.mechanism=OAUTHBEARER',
      `kafka.sasl.oauth.tokenUrl=${LOGIN}`,
      'kafka.sasl.serviceAccountToken.audience=kafka',
    ],
    /needs one of kafka\.sasl\.oauth\.tokenUrl/,
  ],
  [
    'tokens without OAUTHBEARER',
    ['kafka.sasl.serviceAccountToken.audience=kafka'],
    /need kafka\.sasl\.mechanism OAUTHBEARER/,
  ],
  [
    'client credentials without a client',
    ['kafka.sasl.mechanism=OAUTHBEARER', `kafka.sasl.oauth.tokenUrl=${LOGIN}`],
    /kafka\.credentials\.\w+\.(oauthClientId|oauthSecret) is needed with kafka\.sasl\.oauth\.tokenUrl/,
  ],
  ['MSK without a region', ['kafka.sasl.mechanism=AWS_MSK_IAM'], /kafka\.sasl\.awsRegion is needed/],
  [
    'a SASL extension with the name of the token',
    ['kafka.sasl.oauth.extensions.auth=x'],
    /'\/kafka\/sasl\/oauth\/extensions\/auth'/,
  ],
  [
    'a token that Kubernetes would not project',
    ['kafka.sasl.serviceAccountToken.expirationSeconds=60'],
    /'\/kafka\/sasl\/serviceAccountToken\/expirationSeconds'.*600/,
  ],
  [
    'a registry with two credentials',
    ['schemaRegistry.username=u', 'schemaRegistry.serviceAccountToken.audience=registry'],
    /Set only one of schemaRegistry\.username/,
  ],
  [
    'registry tokens without a Secret',
    [`schemaRegistry.oauth.tokenUrl=${LOGIN}`, 'schemaRegistry.oauth.clientId=hookline'],
    /schemaRegistry\.oauth\.secret is needed/,
  ],
  [
    'a credential among the headers',
    ['schemaRegistry.headers.Authorization=Bearer x'],
    /'\/schemaRegistry\/headers\/Authorization'/,
  ],
  [
    'service accounts without a name',
    ['serviceAccount.create=false', 'serviceAccount.perProcess=true'],
    /serviceAccount\.name is needed with serviceAccount\.perProcess/,
  ],
  [
    'subscriptions as code without a file',
    ['subscriptionsAsCode.enabled=true'],
    /subscriptionsAsCode needs one of content and configMap/,
  ],
  [
    'subscriptions as code from two files',
    [...FILE, 'subscriptionsAsCode.configMap=ours'],
    /subscriptionsAsCode needs one of content and configMap/,
  ],
  ['subscriptions as code without control', [...FILE, 'control.enabled=false'], /needs control\.enabled/],
  [
    'an answer to drift that there is not',
    [...FILE, 'subscriptionsAsCode.onDrift=ignore'],
    /'\/subscriptionsAsCode\/onDrift'.*'repair', 'fail'/,
  ],
  [
    'a subscription without events',
    ['subscriptionsAsCode.content.subscriptions.eu.events=[]'],
    /'\/subscriptionsAsCode\/content\/subscriptions\/eu\/events'/,
  ],
  ...['true', 'false', 'null', '83', '0123', '1e3'].map(
    (ref): Wrong => [
      `the ref ${ref}, which may have been another one before Helm read it`,
      ['subscriptionsAsCode.enabled=true', `subscriptionsAsCode.content.subscriptions.${ref}.events={a}`],
      new RegExp(`has the ref "${ref}", which Helm may have made of another one.* Give the content as text`),
    ],
  ),
  ['a further object that is none', ['extraObjects[0]=5'], /'\/extraObjects\/0'/],
  ['a digest that is none', ['image.digest=latest'], /'\/image\/digest'/],
  [
    'a ref that is none',
    ['subscriptions[0].ref=Ledger EU', 'subscriptions[0].secret=s'],
    /'\/subscriptions\/0\/ref'/,
  ],
  ['replicas in words', ['ingress.replicas=two'], /'\/ingress\/replicas': got string, want integer/],
  ['control without a provider', ['provider.authUrl='], /provider\.authUrl is needed/],
  ['no sealing key', ['sealingKey.secret='], /'\/sealingKey\/secret'/],
  [
    'a spool that is scaled by itself',
    ['ingress.spool.enabled=true', 'ingress.autoscaling.enabled=true'],
    /ingress\.autoscaling and ingress\.spool exclude one another/,
  ],
  [
    'a spool that something else scales',
    ['ingress.spool.enabled=true', 'ingress.autoscaling.external=true'],
    /ingress\.autoscaling and ingress\.spool exclude one another/,
  ],
  [
    'two that scale',
    ['ingress.autoscaling.enabled=true', 'ingress.autoscaling.external=true'],
    /autoscaling\.enabled and ingress\.autoscaling\.external exclude/,
  ],
  [
    'an address of an object store with a blank',
    ['bodyStore.address=s3://bucket/a b'],
    /'\/bodyStore\/address'/,
  ],
  [
    'limited connections, and not where the credentials of the object store come from',
    ['bodyStore.address=s3://events', 'networkPolicy.egress.enabled=true'],
    /bodyStore\.credentialsFrom is needed with networkPolicy\.egress/,
  ],
  [
    'a source of credentials that there is not',
    ['bodyStore.credentialsFrom=node'],
    /'\/bodyStore\/credentialsFrom'/,
  ],
  ['a prefix with an empty step', ['bodyStore.address=s3://bucket/a//b'], /'\/bodyStore\/address'/],
  [
    'a number of pods that is none',
    ['control.podDisruptionBudget.maxUnavailable='],
    /'\/control\/podDisruptionBudget\/maxUnavailable'/,
  ],
  [
    'a share of pods above all of them',
    ['ingress.podDisruptionBudget.maxUnavailable=150%'],
    /'\/ingress\/podDisruptionBudget\/maxUnavailable'/,
  ],
  [
    'a proxy with a password among the values',
    ['proxy.https=http://user:horse@proxy:3128'],
    /'\/proxy\/https'/,
  ],
  ['a proxy without a scheme', ['proxy.https=proxy:3128'], /'\/proxy\/https'/],
  [
    'two addresses of a proxy',
    ['proxy.https=http://proxy:3128', 'proxy.httpsSecret=proxy'],
    /set one of them/,
  ],
  ['a host with a comma that the proxy is not used for', ['proxy.noProxy={a\\,b}'], /'\/proxy\/noProxy\/0'/],
  [
    'limited connections, and not the port of a proxy that a Secret has',
    ['proxy.httpsSecret=proxy', 'networkPolicy.egress.enabled=true'],
    /proxy\.port is needed with networkPolicy\.egress/,
  ],
  ['an Ingress without a host', ['expose.ingress.enabled=true'], /expose\.ingress\.host is needed/],
];

/** What Kubernetes or somebody else defines, or a map of any names. */
const FREE =
  /(^|\.)(resources|labels|annotations|settings|extensions|headers|dialect|content)$|[sS]elector$|affinity$/;

/** The dotted names of the chart's own blocks. */
function blocksOf(values: object, path: readonly string[] = []): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const block = [...path, name].join('.');
    const isBlock = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    if (!isBlock || Array.isArray(value) || FREE.test(block)) return [];
    return [block, ...blocksOf(value, [...path, name])];
  });
}

/** The dotted names of the chart's own values whose default is not empty. */
const valuesOf = (values: object): string[] =>
  ['', ...blocksOf(values)].flatMap((block) => {
    const path = block === '' ? [] : block.split('.');
    // biome-ignore lint/suspicious/noExplicitAny: each block has its own
    const own = path.reduce((at: any, name) => at[name], values);
    const names = Object.keys(own).filter((name) => typeof own[name] !== 'object' && own[name] !== '');
    return names.map((name) => [...path, name].join('.'));
  });

/** What the refusal says of a block or a value that is not there. */
function isMissing(dotted: string): RegExp {
  const [, parent = '', name] = /^(?:(.*)\.)?(.*)$/.exec(dotted) ?? [];
  const at = parent && `/${parent.replaceAll('.', '/')}`;
  return new RegExp(`at '${at}': missing propert(y|ies) .*'${name}'`);
}

describe('the chart refuses', () => {
  it.each(WRONG)('%s, and says which value is wrong', async (_, sets, named) => {
    const flags = sets.flatMap((set) => ['--set', set]);
    const { out, error } = await helmTemplate(helm, '-f', valuesFile('minimal'), ...flags);
    expect(out).toBe('');
    expect(error).toMatch(named);
  });

  it('every block with nothing below it, which Helm takes out together with its defaults', async () => {
    const blocks = blocksOf(parse(readFile(`${CHART}/values.yaml`)));
    expect(blocks).toEqual(expect.arrayContaining(['ingress', 'kafka.tls', 'ingress.spool.drain']));
    // Those of one depth at a time: a block that is not there has none in it.
    const byDepth = Map.groupBy(blocks, (block) => block.split('.').length);
    for (const some of byDepth.values()) {
      const sets = some.flatMap((block) => ['--set', `${block}=null`]);
      const { error } = await helmTemplate(helm, '-f', valuesFile('minimal'), ...sets);
      for (const block of some) expect(error, block).toMatch(isMissing(block));
    }
  });

  it('every value with nothing behind it whose default is not empty: what it stands for would be missing, or be another one', async () => {
    const values = valuesOf(parse(readFile(`${CHART}/values.yaml`)));
    expect(values).toEqual(expect.arrayContaining(['topicPrefix', 'control.enabled', 'kafka.tls.enabled']));
    const sets = values.flatMap((value) => ['--set', `${value}=null`]);
    const { error } = await helmTemplate(helm, '-f', valuesFile('minimal'), ...sets);
    for (const value of values) expect(error, value).toMatch(isMissing(value));
  });

  it.each(['my.release', '2pay'])('the release name %s, which no Service can have', async (name) => {
    const minimal = ['-f', valuesFile('minimal')];
    const { error } = await helmTemplateOf(name, helm, ...minimal);
    expect(error).toContain(`objects would be named ${name}-hookline: a Service's name begins with a letter`);
    const named = await helmTemplateOf(name, helm, ...minimal, '--set', 'fullnameOverride=pay');
    expect(named.error).toBe('');
  });

  it('its own defaults, naming every value that an installation has to give', async () => {
    const { error } = await helmTemplate(helm);
    for (const value of ['/kafka/brokers', '/publicUrl', '/schemaRegistry/url', '/sealingKey/secret'])
      expect(error).toContain(`'${value}'`);
  });
});
