//! Clients behind proxies: nothing that a client writes into a header changes the address that it is limited by.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use tidegate::http::{Gate, GateBuilder, Mistake, TrustedProxies};

fn addresses() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
    ]
}

/// Addresses that are no proxies of ours.
fn clients() -> impl Strategy<Value = IpAddr> {
    addresses().prop_map(|address| address.to_canonical()).prop_filter("not a proxy", |address| match address {
        IpAddr::V4(address) => address.octets()[0] != 10,
        IpAddr::V6(address) => address.segments()[0] != 0xfd00,
    })
}

fn proxies() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 3]>().prop_map(|[a, b, c]| IpAddr::from([10, a, b, c])),
        any::<u64>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(bits)))),
    ]
}

/// The field that a client sends before any proxy appends to it: garbage, or what looks like a proxy's own.
fn prefixes() -> impl Strategy<Value = Vec<String>> {
    let tricks = prop::sample::select(vec![
        "10.0.0.1",
        "for=10.0.0.1",
        "for=\"",
        "\"",
        "\\\"",
        "for=\"[fd00::1]:80\"",
        ",",
        ", ,",
        "for=10.0.0.1;",
        ";",
        "unknown",
        "_hidden",
        "for=\"a\\",
        "\u{e9}",
        "::ffff:10.0.0.1",
        "10.0.0.1,10.0.0.1,10.0.0.1",
    ]);
    let line = prop_oneof![
        prop::collection::vec(tricks, 0..6).prop_map(|parts| parts.concat()),
        "\\PC{0,40}",
        Just("10.0.0.1,".repeat(100_000)),
        Just("\"".repeat(100_000)),
    ];
    prop::collection::vec(line, 0..4)
}

/// The elements that proxies append, in either grammar.
fn element(address: IpAddr, forwarded: bool, port: bool) -> String {
    let port = if port { ":4711" } else { "" };
    match (address, forwarded) {
        (IpAddr::V4(address), true) => format!("for={address}{}", if port.is_empty() { "" } else { ";by=_x" }),
        (IpAddr::V6(address), true) => format!("For=\"[{address}]{port}\";proto=https"),
        (IpAddr::V4(address), false) => format!("{address}{port}"),
        (IpAddr::V6(address), false) if port.is_empty() => address.to_string(),
        (IpAddr::V6(address), false) => format!("[{address}]{port}"),
    }
}

fn gate(proxies: TrustedProxies, forwarded: bool) -> Gate {
    let name = if forwarded { "Forwarded" } else { "X-Forwarded-For" };
    Gate::builder().trusted_proxies(proxies).forwarded_header(name).ipv6_prefix(128).build().expect("a gate")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_a_client_sends_changes_nothing(
        client in clients(), chain in prop::collection::vec(proxies(), 1..5), sent in prefixes(),
        forwarded: bool, port: bool, own_line: bool,
    ) {
        let (peer, before) = chain.split_last().expect("a peer");
        let mut lines = sent;
        for (index, address) in std::iter::once(&client).chain(before).enumerate() {
            let element = element(*address, forwarded, port);
            match lines.last_mut() {
                // A proxy appends to the last line, or adds one.
                Some(line) if index > 0 || !own_line => { line.push_str(", "); line.push_str(&element); }
                _ => lines.push(element),
            }
        }
        let peer = peer.to_string();
        let networks = TrustedProxies::networks(["10.0.0.0/8", "fd00::/16"]).expect("networks");
        let hops = TrustedProxies::hops(chain.len().try_into().expect("few")).expect("few");
        for proxies in [networks, hops] {
            let found = gate(proxies, forwarded).client(Some(&peer), &lines).expect("an address");
            prop_assert_eq!(found.actor, format!("ip:{client}"));
        }
        let found = gate(TrustedProxies::none(), forwarded).client(Some(&peer), &lines).expect("an address");
        prop_assert_eq!(found.actor, format!("ip:{peer}"), "nobody is believed unless that is asked for");
    }

    #[test]
    fn any_peer_and_any_lines_are_read(peer in "\\PC{0,40}", lines in prop::collection::vec(any::<Vec<u8>>(), 0..4), forwarded: bool) {
        for proxies in [TrustedProxies::none(), TrustedProxies::hops(3).expect("few"), TrustedProxies::everything()] {
            let found = gate(proxies, forwarded).client(Some(&peer), &lines);
            prop_assert!(found.is_ok_and(|found| !found.actor.is_empty()) || peer.parse::<IpAddr>().is_err());
        }
    }

    #[test]
    fn an_address_is_one_client_however_it_is_written(address in addresses()) {
        let gate = Gate::new();
        let none: [&str; 0] = [];
        let actor = |peer: &str| gate.client(Some(peer), &none).expect("an address").actor;
        let plain = actor(&address.to_string());
        let mapped = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_string(),
            IpAddr::V6(address) => address.to_string(),
        };
        prop_assert_eq!(&actor(&mapped), &plain);
        prop_assert_eq!(&actor(&format!("[{mapped}]:80")), &plain);
        prop_assert_eq!(&actor(&format!("{mapped}%eth0")), &plain);
    }
}

#[test]
fn a_megabyte_is_read_in_no_time() {
    let many = "10.0.0.1, ".repeat(1 << 17);
    let gate = gate(TrustedProxies::networks(["10.0.0.0/8"]).expect("a network"), false);
    let started = std::time::Instant::now();
    for _ in 0..1000 {
        assert_eq!(gate.client(Some("10.0.0.9"), &[&many]).expect("an address").actor, "ip:10.0.0.1");
    }
    assert!(started.elapsed().as_secs() < 20, "a thousand times, on any machine");
}

#[test]
fn no_address_is_an_error() {
    for peer in [None, Some(""), Some("/run/app.sock"), Some("unix:"), Some("localhost")] {
        for proxies in [TrustedProxies::none(), TrustedProxies::networks(["10.0.0.0/8"]).expect("a network")] {
            let error = gate(proxies, false).client(peer, &["203.0.113.9"]).expect_err("no address");
            assert_eq!(error.mistake(), Mistake::NoClientAddress);
        }
        for proxies in [TrustedProxies::hops(1).expect("few"), TrustedProxies::networks(["unix"]).expect("a name")] {
            let gate = gate(proxies, false);
            assert_eq!(gate.client(peer, &["198.51.100.1, 203.0.113.9"]).expect("an address").actor, "ip:203.0.113.9");
            assert!(gate.client(peer, &[""; 0]).is_err(), "the proxy said nothing");
        }
    }
}

#[test]
fn mistakes_are_told_once() {
    let silent = |scope: &str| Gate::builder().scope(scope);
    let gate_of = |gate: GateBuilder| gate.build().expect("a gate");
    let warned = |gate: &Gate| gate.client(Some("10.0.0.1"), &["203.0.113.9"]).expect("an address").warning;
    let gate = gate_of(silent("mistakes_are_told_once"));
    let warning = warned(&gate).expect("a warning");
    assert_eq!(warning.mistake, Mistake::ForwardedNotTrusted);
    assert!(warning.text.starts_with("forwarded-not-trusted: ") && warning.text.contains("x-forwarded-for"));
    assert_eq!(warned(&gate), None);
    assert_eq!(warned(&gate_of(silent("mistakes_are_told_once"))), None, "another gate of the same limiter");
    assert!(warned(&gate_of(silent("mistakes_are_told_once, of another limiter"))).is_some());
    assert_eq!(warned(&gate_of(silent("silenced").silence(Mistake::ForwardedNotTrusted))), None);

    for everything in [TrustedProxies::everything(), TrustedProxies::networks(["10.0.0.1", "::/0"]).expect("networks")]
    {
        let gate = gate_of(silent(&format!("{everything:?}")).trusted_proxies(everything));
        let found = gate.client(Some("10.0.0.1"), &["198.51.100.1, 203.0.113.9"]).expect("an address");
        assert_eq!(found.actor, "ip:203.0.113.9", "one proxy, and never the left-most address");
    }
    let gate = gate_of(silent("everything").trusted_proxies(TrustedProxies::everything()));
    assert_eq!(warned(&gate).expect("a warning").mistake, Mistake::EverythingTrusted);
}

#[test]
fn a_gate_is_checked_when_it_is_built() {
    let wrong = |gate: GateBuilder| gate.build().expect_err("no gate").to_string();
    assert_eq!(wrong(Gate::builder().ipv6_prefix(0)), "ipv6Prefix must be a whole number from 1 to 128, got 0");
    assert_eq!(wrong(Gate::builder().ipv6_prefix(129)), "ipv6Prefix must be a whole number from 1 to 128, got 129");
    assert_eq!(wrong(Gate::builder().status(200)), "status must be a whole number from 400 to 599, got 200");
    for header in ["", "X Forwarded For", "x-forwarded-for:", "é", &"x".repeat(101)] {
        let error = wrong(Gate::builder().forwarded_header(header));
        assert!(error.starts_with("forwardedHeader must be the name of a header, got \""), "{error}");
    }
    let gate = Gate::builder().forwarded_header("CF-Connecting-IP").status(503).ipv6_prefix(128).build();
    assert_eq!(gate.expect("a gate").header_name(), "cf-connecting-ip");
    let proxies = TrustedProxies::hops(33).expect_err("too many");
    assert_eq!(proxies.to_string(), "trustedProxies must be at most 32, got 33");
    let proxies = TrustedProxies::networks(["10.0.0.0/8, localhost"]).expect_err("no network");
    assert_eq!((proxies.field(), proxies.value()), ("trustedProxies", r#""localhost""#));
}
