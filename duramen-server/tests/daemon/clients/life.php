<?php
// A full life cycle with PHP's functions: URL, root certificate, administrator, password.
[, $url, $root, $administrator, $password] = $argv;
$base = 'dc=example,dc=com';
set_error_handler(function ($severity, $message) {
    if (error_reporting() & $severity) {
        throw new Exception($message);
    }
});

function is($found, $wanted) {
    if ($found !== $wanted) {
        throw new Exception(var_export($found, true) . ' instead of ' . var_export($wanted, true));
    }
}

function connected($url) {
    $connection = ldap_connect($url);
    ldap_set_option($connection, LDAP_OPT_PROTOCOL_VERSION, 3);
    ldap_start_tls($connection);
    return $connection;
}

ldap_set_option(null, LDAP_OPT_X_TLS_CACERTFILE, $root);
$ldap = connected($url);
is(@ldap_bind($ldap, $administrator, 'wrong'), false);
is(ldap_errno($ldap), 0x31);
ldap_bind($ldap, $administrator, $password);
is(ldap_exop_whoami($ldap), "dn:$administrator");

ldap_add($ldap, $base, ['objectClass' => ['dcObject', 'organization'], 'dc' => 'example', 'o' => 'Example']);
for ($n = 0; $n < 25; $n++) {
    ldap_add($ldap, "uid=u$n,$base", ['objectClass' => 'inetOrgPerson', 'uid' => "u$n", 'cn' => 'Müller', 'sn' => 'M']);
}

// Bytes of all kinds in names and values.
$odd = 'Ünï, "x" +=<>#;\\ ';
$name = 'cn=' . ldap_escape($odd, '', LDAP_ESCAPE_DN) . ",$base";
$photo = "\x00\xff\xfe\n";
ldap_add($ldap, $name, ['objectClass' => 'inetOrgPerson', 'cn' => $odd, 'sn' => 'x', 'jpegPhoto' => $photo]);
$filter = '(cn=' . ldap_escape($odd, '', LDAP_ESCAPE_FILTER) . ')';
$found = ldap_first_entry($ldap, ldap_search($ldap, $base, $filter));
is(ldap_get_values($ldap, $found, 'cn')[0], $odd);
is(ldap_get_values_len($ldap, $found, 'jpegPhoto')[0], $photo);
ldap_mod_add($ldap, $name, ['mail' => ['a@example.com', 'b@example.com']]);
ldap_mod_del($ldap, $name, ['mail' => 'a@example.com']);
ldap_modify_batch($ldap, $name, [
    ['attrib' => 'sn', 'modtype' => LDAP_MODIFY_BATCH_REPLACE, 'values' => ['Other']],
    ['attrib' => 'jpegPhoto', 'modtype' => LDAP_MODIFY_BATCH_REMOVE_ALL],
]);
is(ldap_compare($ldap, $name, 'sn', 'OTHER'), true);

$cookie = '';
$pages = [];
do {
    $paged = ['oid' => LDAP_CONTROL_PAGEDRESULTS, 'iscritical' => true, 'value' => ['size' => 10, 'cookie' => $cookie]];
    $result = ldap_search($ldap, $base, '(cn=müller)', ['uid'], 0, 0, 0, LDAP_DEREF_NEVER, [$paged]);
    ldap_parse_result($ldap, $result, $code, $matched, $message, $referrals, $controls);
    is($code, 0);
    $pages[] = ldap_count_entries($ldap, $result);
    $cookie = $controls[LDAP_CONTROL_PAGEDRESULTS]['value']['cookie'];
} while ($cookie !== '');
is($pages, [10, 10, 5]);
$sort = ['oid' => LDAP_CONTROL_SORTREQUEST, 'iscritical' => true, 'value' => [['attr' => 'uid', 'reverse' => true]]];
$sorted = ldap_search($ldap, $base, '(uid=u2*)', ['uid'], 0, 0, 0, LDAP_DEREF_NEVER, [$sort]);
is(ldap_get_dn($ldap, ldap_first_entry($ldap, $sorted)), "uid=u24,$base");

ldap_rename($ldap, $name, 'uid=babs', '', false);
ldap_exop_passwd($ldap, "uid=babs,$base", '', 'first');
$generated = ldap_exop_passwd($ldap, "uid=babs,$base", 'first', '');
$babs = connected($url);
ldap_sasl_bind($babs, null, $generated, 'PLAIN', null, 'babs');
is(ldap_exop_whoami($babs), "dn:uid=babs,$base");
ldap_delete($ldap, "uid=babs,$base");
is(ldap_count_entries($ldap, ldap_list($ldap, $base, '(uid=babs)')), 0);
ldap_unbind($ldap);
