# A full life cycle with Net::LDAP: URL, root certificate, administrator, password.
use strict;
use warnings;
use utf8;

use Authen::SASL;
use Encode qw(encode);
use Net::LDAP;
use Net::LDAP::Constant qw(LDAP_CONTROL_PAGED LDAP_CONTROL_POSTREAD LDAP_CONTROL_SORTRESULT);
use Net::LDAP::Control::Paged;
use Net::LDAP::Control::PostRead;
use Net::LDAP::Control::Sort;
use Net::LDAP::Extension::SetPassword;
use Net::LDAP::Extension::WhoAmI;
use Net::LDAP::Util qw(escape_dn_value);

my ($url, $root, $administrator, $password) = @ARGV;
my $base = 'dc=example,dc=com';

sub done {
    my ($answer) = @_;
    die $answer->error_name . ': ' . $answer->error if $answer->code;
    return $answer;
}

sub is {
    my ($found, $wanted) = @_;
    my (undef, undef, $line) = caller;
    die "line $line: '$found' instead of '$wanted'\n" unless $found eq $wanted;
}

sub connection {
    my $connection = Net::LDAP->new($url, timeout => 60) or die $@;
    done($connection->start_tls(verify => 'require', cafile => $root));
    return $connection;
}

my $ldap = connection();
is($ldap->bind($administrator, password => 'wrong')->error_name, 'LDAP_INVALID_CREDENTIALS');
done($ldap->bind($administrator, password => $password));
is(done($ldap->who_am_i)->response, "dn:$administrator");

# Schema discovery.
my $dse = $ldap->root_dse;
is($dse->get_value('namingContexts'), $base);
die 'no paged results' unless $dse->supported_control(LDAP_CONTROL_PAGED);
my $schema = $ldap->schema or die 'no schema';
is(join(',', sort map { $_->{name} } $schema->must('inetOrgPerson')), 'cn,objectClass,sn');
for my $type ($schema->all_attributes) {
    $schema->attribute_syntax($type->{name}) or die "the syntax of $type->{name} is not shown";
}

done($ldap->add($base, attrs => [objectClass => ['dcObject', 'organization'], dc => 'example', o => 'Example']));
for my $n (0 .. 24) {
    my @attributes = (objectClass => 'inetOrgPerson', uid => "u$n", cn => encode('UTF-8', 'Müller'), sn => 'M');
    done($ldap->add("uid=u$n,$base", attrs => \@attributes));
}

# Bytes of all kinds in names and values.
my $odd = encode('UTF-8', 'Lučič, "Rita" + <x>; #\\ ');
my $name = 'cn=' . escape_dn_value($odd) . ",$base";
my $photo = "\x00\xff\xfe\n";
done($ldap->add($name, attrs => [objectClass => 'inetOrgPerson', cn => $odd, sn => 'x', jpegPhoto => $photo]));
my $entry = done($ldap->search(base => $name, scope => 'base', filter => '(objectClass=*)'))->entry(0);
is($entry->get_value('cn'), $odd);
is($entry->get_value('jpegPhoto'), $photo);
$entry->changetype('modify');
$entry->replace(sn => 'Other');
$entry->add(mail => ['a@example.com', 'b@example.com']);
$entry->delete('jpegPhoto');
done($entry->update($ldap));
my $read = Net::LDAP::Control::PostRead->new(attrs => ['mail']);
my $change = done($ldap->modify($entry->dn, delete => { mail => ['a@example.com'] }, control => [$read]));
my ($after) = $change->control(LDAP_CONTROL_POSTREAD);
is(join(',', $after->entry->get_value('mail')), 'b@example.com');
is($ldap->compare($entry->dn, attr => 'sn', value => 'OTHER')->error_name, 'LDAP_COMPARE_TRUE');

# Pages, order, answers that come while others are asked for.
my $page = Net::LDAP::Control::Paged->new(size => 10);
my ($found, $pages, $cookie) = (0, 0, undef);
do {
    my $answer = done($ldap->search(base => $base, filter => '(uid=u*)', control => [$page]));
    $found += $answer->count;
    $pages += 1;
    my ($response) = $answer->control(LDAP_CONTROL_PAGED);
    $cookie = $response->cookie;
    $page->cookie($cookie);
} while (defined $cookie && length $cookie);
is("$found in $pages", '25 in 3');
my $sort = Net::LDAP::Control::Sort->new(order => '-uid');
my $sorted = done($ldap->search(base => $base, filter => '(uid=u2*)', control => [$sort]));
is(join(',', map { $_->get_value('uid') } $sorted->entries), 'u24,u23,u22,u21,u20,u2');
my ($order) = $sorted->control(LDAP_CONTROL_SORTRESULT);
is($order->result, 0);
my $pipeline = Net::LDAP->new($url, async => 1, timeout => 60) or die $@;
my @searches = map { $pipeline->search(base => $base, filter => "(uid=u$_)") } 0 .. 24;
is(scalar(grep { $_->count == 1 } @searches), 25);
my $few = $ldap->search(base => $base, filter => '(uid=u*)', sizelimit => 5);
is($few->error_name . ' ' . $few->count, 'LDAP_SIZELIMIT_EXCEEDED 5');

done($ldap->moddn($name, newrdn => 'uid=rita', deleteoldrdn => 0));
done($ldap->set_password(user => "uid=rita,$base", newpasswd => 'first'));
my $generated = done($ldap->set_password(user => "uid=rita,$base", oldpasswd => 'first'))->gen_password;
my $sasl = Authen::SASL->new(mechanism => 'PLAIN', callback => { user => 'rita', pass => $generated });
my $rita = connection();
done($rita->bind('', sasl => $sasl));
is(done($rita->who_am_i)->response, "dn:uid=rita,$base");
is($ldap->delete($base)->error_name, 'LDAP_NOT_ALLOWED_ON_NONLEAF');
done($ldap->delete("uid=rita,$base"));
is($ldap->delete("uid=rita,$base")->error_name, 'LDAP_NO_SUCH_OBJECT');
done($ldap->unbind);
