//! Certificates that tests make.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with an authority `ca`, and certificates that it signed: the server's, an expired one, one of another host,
/// the client's; and two that signed themselves, the second of another host. It goes when this is dropped.
pub(crate) struct Certificates {
    pub(crate) folder: PathBuf,
}

impl Certificates {
    pub(crate) fn make(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tidegate-test-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        make(&folder);
        Self { folder }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    pub(crate) fn pem(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).expect("a file")
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn openssl(folder: &Path, arguments: &str) {
    let made = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().expect("openssl");
    assert!(made.status.success(), "{arguments}: {}", String::from_utf8_lossy(&made.stderr));
}

fn make(folder: &Path) {
    let subject = "-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1";
    for authority in ["ca", "other"] {
        openssl(
            folder,
            &format!(
                "req -x509 -newkey rsa:2048 -nodes -keyout {authority}.key -out {authority}.crt -days 2 -subj /CN={authority}"
            ),
        );
    }
    // As most people make one: it signed itself, and says that it is an authority's.
    openssl(folder, &format!("req -x509 -newkey rsa:2048 -nodes -keyout own.key -out own.crt -days 2 {subject}"));
    let named = "-subj /CN=elsewhere -addext subjectAltName=DNS:elsewhere";
    openssl(
        folder,
        &format!("req -x509 -newkey rsa:2048 -nodes -keyout own-name.key -out own-name.crt -days 2 {named}"),
    );
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n").expect("a file");
    fs::write(folder.join("other-names"), "subjectAltName=DNS:elsewhere\n").expect("a file");
    for (name, days, names) in
        [("expired", -1, "names"), ("elsewhere", 2, "other-names"), ("server", 2, "names"), ("client", 2, "names")]
    {
        openssl(folder, &format!("req -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.csr {subject}"));
        openssl(
            folder,
            &format!(
                "x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out {name}.crt -days {days} -extfile {names}"
            ),
        );
    }
}
