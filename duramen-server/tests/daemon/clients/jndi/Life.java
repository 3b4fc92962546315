import java.util.ArrayList;
import java.util.Arrays;
import java.util.Hashtable;
import java.util.List;
import javax.naming.AuthenticationException;
import javax.naming.Context;
import javax.naming.ContextNotEmptyException;
import javax.naming.NamingEnumeration;
import javax.naming.SizeLimitExceededException;
import javax.naming.directory.Attributes;
import javax.naming.directory.BasicAttribute;
import javax.naming.directory.BasicAttributes;
import javax.naming.directory.DirContext;
import javax.naming.directory.InitialDirContext;
import javax.naming.directory.ModificationItem;
import javax.naming.directory.SearchControls;
import javax.naming.directory.SearchResult;
import javax.naming.ldap.Control;
import javax.naming.ldap.InitialLdapContext;
import javax.naming.ldap.LdapContext;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.PagedResultsControl;
import javax.naming.ldap.PagedResultsResponseControl;
import javax.naming.ldap.Rdn;
import javax.naming.ldap.SortControl;
import javax.naming.ldap.SortResponseControl;
import javax.naming.ldap.StartTlsRequest;
import javax.naming.ldap.StartTlsResponse;

/** A full life cycle with JNDI: URL, root certificate (of which the trust store is made), administrator, password. */
public class Life {
    static final String BASE = "dc=example,dc=com";

    static void is(Object found, Object wanted) {
        if (!found.equals(wanted)) {
            throw new AssertionError(found + " instead of " + wanted);
        }
    }

    static Hashtable<String, Object> environment(String url) {
        var environment = new Hashtable<String, Object>();
        environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.ldap.LdapCtxFactory");
        environment.put(Context.PROVIDER_URL, url);
        environment.put("java.naming.ldap.attributes.binary", "jpegPhoto");
        return environment;
    }

    /** Binds a context over TLS. */
    static LdapContext bound(String url, String mechanism, String name, String password) throws Exception {
        var context = new InitialLdapContext(environment(url), null);
        ((StartTlsResponse) context.extendedOperation(new StartTlsRequest())).negotiate();
        context.addToEnvironment(Context.SECURITY_AUTHENTICATION, mechanism);
        context.addToEnvironment(Context.SECURITY_PRINCIPAL, name);
        context.addToEnvironment(Context.SECURITY_CREDENTIALS, password);
        context.reconnect(null);
        return context;
    }

    static SearchControls below(int limit, String... attributes) {
        return new SearchControls(SearchControls.SUBTREE_SCOPE, limit, 0, attributes, false, false);
    }

    static List<String> names(NamingEnumeration<SearchResult> found) throws Exception {
        var names = new ArrayList<String>();
        while (found.hasMore()) {
            names.add(found.next().getNameInNamespace());
        }
        return names;
    }

    static Attributes person(String cn, String more, Object value) {
        var attributes = new BasicAttributes("objectClass", "inetOrgPerson", true);
        attributes.put("cn", cn);
        attributes.put("sn", "M");
        attributes.put(more, value);
        return attributes;
    }

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0], administrator = arguments[2], password = arguments[3];
        try {
            bound(url, "simple", administrator, "wrong");
            throw new AssertionError("a wrong password was taken");
        } catch (AuthenticationException expected) {
            // As it has to be.
        }
        var context = bound(url, "simple", administrator, password);
        var top = new BasicAttributes("o", "Example");
        var classes = new BasicAttribute("objectClass", "dcObject");
        classes.add("organization");
        top.put(classes);
        context.createSubcontext(BASE, top).close();
        for (int n = 0; n < 25; n++) {
            context.createSubcontext("uid=u" + n + "," + BASE, person("Müller", "uid", "u" + n)).close();
        }
        schema(context);
        searches(context);
        oddNames(context);

        String rita = "uid=rita," + BASE;
        context.createSubcontext(rita, person("Rita", "userPassword", "first")).close();
        var own = bound(url, "PLAIN", "rita", "first");
        var change = new ModificationItem(DirContext.REPLACE_ATTRIBUTE, new BasicAttribute("userPassword", "second"));
        own.modifyAttributes(rita, new ModificationItem[] {change});
        own.close();
        bound(url, "simple", rita, "second").close();
        pooled(url, administrator, password);
        referrals(url, context);
        try {
            context.destroySubcontext(BASE);
            throw new AssertionError("an entry with others below it was deleted");
        } catch (ContextNotEmptyException expected) {
            // As it has to be.
        }
        context.destroySubcontext(rita);
        context.close();
    }

    static void schema(LdapContext context) throws Exception {
        DirContext schema = context.getSchema("");
        var uid = ((DirContext) schema.lookup("AttributeDefinition/uidNumber")).getAttributes("");
        is(uid.get("SYNTAX").get(), "1.3.6.1.4.1.1466.115.121.1.27");
        is(((DirContext) schema.lookup("ClassDefinition/inetOrgPerson")).getAttributes("").get("SUP").get(),
            "organizationalPerson");
        var types = schema.list("AttributeDefinition");
        while (types.hasMore()) {
            var syntax = ((DirContext) schema.lookup("AttributeDefinition/" + types.next().getName()))
                .getAttributes("").get("SYNTAX");
            if (syntax != null) {
                schema.lookup("SyntaxDefinition/" + syntax.get().toString().replaceAll("\\{.*", ""));
            }
        }
        var sn = context.getAttributes("uid=u1," + BASE).get("sn");
        is(sn.getAttributeDefinition().getAttributes("").get("NUMERICOID").get(), "2.5.4.4");
    }

    static void searches(LdapContext context) throws Exception {
        is(names(context.search(BASE, "(&(uid={0})(cn={1}))", new Object[] {"u7", "müller"}, below(0))),
            List.of("uid=u7," + BASE));
        is(names(context.search(BASE, new BasicAttributes("uid", "u7", true))), List.of("uid=u7," + BASE));
        var sizes = new ArrayList<Integer>();
        byte[] cookie = null;
        do {
            context.setRequestControls(new Control[] {new PagedResultsControl(10, cookie, Control.CRITICAL)});
            sizes.add(names(context.search(BASE, "(cn=müller)", below(0))).size());
            cookie = ((PagedResultsResponseControl) context.getResponseControls()[0]).getCookie();
        } while (cookie != null);
        is(sizes, List.of(10, 10, 5));
        context.setRequestControls(new Control[] {new SortControl("uid", Control.CRITICAL)});
        var sorted = names(context.search(BASE, "(uid=u2*)", below(0)));
        is(sorted.get(1), "uid=u20," + BASE);
        is(((SortResponseControl) context.getResponseControls()[0]).isSorted(), true);
        context.setRequestControls(null);
        var few = context.search(BASE, "(uid=u*)", below(3));
        try {
            names(few);
            throw new AssertionError("more than was asked for");
        } catch (SizeLimitExceededException expected) {
            // As it has to be.
        }
    }

    static void oddNames(LdapContext context) throws Exception {
        String odd = "Ünï, \"x\" +=<>#;\\/ ";
        var name = new LdapName(BASE).add(new Rdn("cn", odd));
        byte[] photo = {0, -1, -2, '\n'};
        context.createSubcontext(name, person(odd, "jpegPhoto", photo)).close();
        var read = context.getAttributes(name, new String[] {"cn", "jpegPhoto"});
        is(read.get("cn").get(), odd);
        is(Arrays.equals((byte[]) read.get("jpegPhoto").get(), photo), true);
        is(new LdapName(names(context.search(BASE, "(jpegPhoto=*)", below(0))).get(0)), name);
        var mail = new BasicAttribute("mail", "a@example.com");
        mail.add("b@example.com");
        context.modifyAttributes(name, new ModificationItem[] {
            new ModificationItem(DirContext.ADD_ATTRIBUTE, mail),
            new ModificationItem(DirContext.REMOVE_ATTRIBUTE, new BasicAttribute("mail", "a@example.com")),
        });
        context.rename(name, new LdapName("cn=Uni," + BASE));
        is(context.getAttributes("cn=Uni," + BASE).get("mail").get(), "b@example.com");
        context.destroySubcontext("cn=Uni," + BASE);
    }

    static void pooled(String url, String name, String password) throws Exception {
        var environment = environment(url);
        environment.put("com.sun.jndi.ldap.connect.pool", "true");
        environment.put(Context.SECURITY_PRINCIPAL, name);
        environment.put(Context.SECURITY_CREDENTIALS, password);
        for (int n = 0; n < 10; n++) {
            var context = new InitialDirContext(environment);
            is(names(context.search(BASE, "(uid=u" + n + ")", below(0))).size(), 1);
            context.close();
        }
    }

    static void referrals(String url, LdapContext context) throws Exception {
        String reference = "cn=elsewhere," + BASE;
        var attributes = new BasicAttributes("cn", "elsewhere");
        attributes.put("ref", url + "/uid=u1," + BASE);
        var classes = new BasicAttribute("objectClass", "referral");
        classes.add("extensibleObject");
        attributes.put(classes);
        context.createSubcontext(reference, attributes).close();
        var follow = context.newInstance(null);
        follow.addToEnvironment(Context.REFERRAL, "follow");
        is(follow.getAttributes(reference).get("uid").get(), "u1");
        var manage = context.newInstance(null);
        manage.addToEnvironment(Context.REFERRAL, "ignore");
        is(manage.getAttributes(reference, new String[] {"ref"}).get("ref").get(), url + "/uid=u1," + BASE);
        manage.destroySubcontext(reference);
    }
}
