#!/usr/bin/env escript
%% A full life cycle with Erlang's eldap: URL, root certificate, administrator, password.

-define(BASE, "dc=example,dc=com").
-define(PERSON, "uid=bjensen,dc=example,dc=com").

main([Url, Root, Administrator, Password]) ->
    {ok, _} = application:ensure_all_started(ssl),
    #{host := Host, port := Port} = uri_string:parse(Url),
    Connect = fun() ->
        {ok, Connection} = eldap:open([Host], [{port, Port}, {timeout, 60000}]),
        ok = eldap:start_tls(Connection, [{verify, verify_peer}, {cacertfile, Root}, {server_name_indication, disable}]),
        Connection
    end,
    Ldap = Connect(),
    {error, invalidCredentials} = eldap:simple_bind(Ldap, Administrator, "wrong"),
    ok = eldap:simple_bind(Ldap, Administrator, Password),
    grow(Ldap),
    find(Ldap),
    change(Ldap, Connect()),
    eldap:close(Ldap).

grow(Ldap) ->
    Organization = [{"objectClass", ["dcObject", "organization"]}, {"dc", ["example"]}, {"o", ["Example"]}],
    ok = eldap:add(Ldap, ?BASE, Organization),
    Person = fun(Uid) -> [{"objectClass", ["inetOrgPerson"]}, {"uid", [Uid]}, {"cn", ["Babs"]}, {"sn", ["Jensen"]}] end,
    ok = eldap:add(Ldap, ?PERSON, Person("bjensen") ++ [{"jpegPhoto", [<<0, 128, 255>>]}]),
    {error, entryAlreadyExists} = eldap:add(Ldap, ?PERSON, Person("bjensen")),
    [ok = eldap:add(Ldap, "uid=" ++ Uid ++ "," ++ ?BASE, Person(Uid))
     || N <- lists:seq(1, 9), Uid <- ["u" ++ integer_to_list(N)]].

find(Ldap) ->
    Starts = eldap:substrings("uid", [{initial, "BJ"}, {any, "ens"}, {final, "n"}]),
    Matches = eldap:extensibleMatch("bjensen", [{type, "uid"}, {matchingRule, "caseIgnoreMatch"}]),
    Filter = eldap:'and'([eldap:equalityMatch("objectClass", "person"), Starts, Matches,
                          eldap:'not'(eldap:present("mail"))]),
    {ok, {eldap_search_result, [Found], [], _}} =
        eldap:search(Ldap, [{base, ?BASE}, {filter, Filter}, {attributes, ["uid", "jpegPhoto"]}]),
    {eldap_entry, ?PERSON, [{"uid", ["bjensen"]}, {"jpegPhoto", [[0, 128, 255]]}]} = Found,
    {error, noSuchObject} = eldap:search(Ldap, [{base, "ou=none," ++ ?BASE}, {filter, eldap:present("objectClass")}]),
    [4, 4, 3] = pages(Ldap, eldap:paged_result_control(4)).

%% How many entries there are on each page.
pages(Ldap, Control) ->
    Search = [{base, ?BASE}, {filter, eldap:present("objectClass")}, {attributes, ["1.1"]}],
    {ok, {eldap_search_result, Entries, [], _} = Result} = eldap:search(Ldap, Search, [Control]),
    Count = length(Entries),
    case eldap:paged_result_cookie(Result) of
        {ok, []} -> [Count];
        {ok, Cookie} -> [Count | pages(Ldap, eldap:paged_result_control(4, Cookie))]
    end.

change(Ldap, Other) ->
    Changes = [eldap:mod_add("mail", ["babs@example.com"]), eldap:mod_replace("sn", ["Smith"]),
               eldap:mod_delete("jpegPhoto", [])],
    ok = eldap:modify(Ldap, ?PERSON, Changes),
    ok = eldap:modify_password(Ldap, ?PERSON, "first"),
    ok = eldap:simple_bind(Other, ?PERSON, "first"),
    ok = eldap:modify_password(Other, ?PERSON, "second", "first"),
    {error, invalidCredentials} = eldap:simple_bind(Other, ?PERSON, "first"),
    eldap:close(Other),
    ok = eldap:modify_dn(Ldap, ?PERSON, "uid=babs", true, ""),
    ok = eldap:delete(Ldap, "uid=babs," ++ ?BASE),
    {error, noSuchObject} = eldap:delete(Ldap, ?PERSON).
