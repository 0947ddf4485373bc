import kafkajs from 'kafkajs';
import { parseAllDocuments } from 'yaml';
import { readFile } from '../../support/generated/files.ts';

type Acl = {
  resource: { type: 'topic' | 'group'; name: string; patternType: 'literal' | 'prefix' };
  operations: string[];
};
type User = { metadata: { name: string }; spec: { authorization: { acls: Acl[] } } };

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const RESOURCES = { topic: AclResourceTypes.TOPIC, group: AclResourceTypes.GROUP };
const PATTERNS = { literal: ResourcePatternTypes.LITERAL, prefix: ResourcePatternTypes.PREFIXED };
const OPERATIONS: Readonly<Record<string, kafkajs.AclOperationTypes>> = {
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
  Delete: AclOperationTypes.DELETE,
};

const users = parseAllDocuments(readFile('deploy/examples/strimzi/users.yaml')).map(
  (document) => document.toJSON() as User,
);

export const USERS = users.map(({ metadata }) => metadata.name);

/** The rights of the example's users as Kafka's ACLs: what Strimzi's user operator makes of them. */
export const rights = (): kafkajs.AclEntry[] =>
  users.flatMap(({ metadata, spec }) =>
    spec.authorization.acls.flatMap(({ resource, operations }) =>
      operations.map((operation) => ({
        principal: `User:${metadata.name}`,
        host: '*',
        resourceType: RESOURCES[resource.type],
        resourceName: resource.name,
        resourcePatternType: PATTERNS[resource.patternType],
        operation: OPERATIONS[operation] ?? AclOperationTypes.UNKNOWN,
        permissionType: AclPermissionTypes.ALLOW,
      })),
    ),
  );

/** Takes a right from a user: unless told otherwise, that to see how a topic is set. */
export const denied = (
  user: string,
  resourceName: string,
  type: keyof typeof RESOURCES = 'topic',
  operation = AclOperationTypes.DESCRIBE_CONFIGS,
): kafkajs.AclEntry => ({
  principal: `User:${user}`,
  host: '*',
  resourceType: RESOURCES[type],
  resourceName,
  resourcePatternType: PATTERNS.literal,
  operation,
  permissionType: AclPermissionTypes.DENY,
});
